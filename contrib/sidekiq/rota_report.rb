# frozen_string_literal: true

# Tells Rota how a job ended, if the job asks for it. Load it in every Sidekiq process; see README.md.
class RotaReport
  KEPT_SECONDS = 7 * 24 * 3600 # a report that nobody reads goes away by itself

  def call(_worker, job, _queue)
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond)
    yield.tap { report(job, started, "succeeded") }
  rescue Exception => error # rubocop:disable Lint/RescueException
    report(job, started, "failed", "#{error.class}: #{error.message}") unless comes_back?(error)
    raise
  end

  private

  # A process that stops puts its unfinished jobs back into the queue: they have not ended.
  def comes_back?(error)
    error.is_a?(Sidekiq::Shutdown) || error.class.name == "Sidekiq::Job::Interrupted"
  end

  def report(job, started, status, error = "")
    stream = job["rota_report"] or return
    ms = Process.clock_gettime(Process::CLOCK_MONOTONIC, :millisecond) - started
    Sidekiq.redis do |redis|
      redis.call("XADD", stream, "*", "jid", job["jid"], "status", status, "error", error[0, 2000], "ms", ms.to_s)
      redis.call("EXPIRE", stream, KEPT_SECONDS.to_s)
    end
  rescue StandardError => problem # a job must not fail because its report does
    Sidekiq.logger.warn("no report to Rota for #{job["jid"]}: #{problem.message}")
  end
end

Sidekiq.configure_server { |config| config.server_middleware { |chain| chain.add RotaReport } }
