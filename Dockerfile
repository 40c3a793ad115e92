# Rota with its Redis store, as one image for every role:
#   docker build -t rota .
#   docker run --init -p 127.0.0.1:23071:23071 -v rota:/data rota              everything, on SQLite in the volume
#   docker run --init -e ROTA_STORE=redis://... rota worker                    one role; see compose.yaml
# --init has a small first process adopt what commands of jobs leave behind.

FROM python:3.13-slim AS build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
RUN python -m venv /opt/rota
# requirements-kafka.lock has what Kafka needs too.
ARG LOCK=requirements.lock
COPY requirements.lock requirements-kafka.lock ./
RUN /opt/rota/bin/pip install --require-hashes --requirement $LOCK
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN /opt/rota/bin/pip install --no-deps --no-build-isolation .

FROM python:3.13-slim
RUN useradd --uid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin rota && install -d -o rota -g rota -m 0700 /data
COPY --from=build /opt/rota /opt/rota
ENV PATH=/opt/rota/bin:$PATH PYTHONUNBUFFERED=1 ROTA_STORE=sqlite:////data/rota.db ROTA_HOST=0.0.0.0
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 23071
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ.get('ROTA_PORT', 23071)}/health\", timeout=4)"]
ENTRYPOINT ["rota"]
CMD ["up", "--no-demo"]
