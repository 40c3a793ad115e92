// The one stream of this tab. A hidden tab has none; shown again, it begins with the whole of every part.
"use strict";

(() => {
  const button = Rota.find("[data-live]");
  if (!button) return;
  const log = () => Rota.find("#log");
  let stream = null;

  function open() {
    close();
    const at = encodeURIComponent(location.pathname + location.search);
    stream = new EventSource(`/live?at=${at}&after=${log()?.dataset.next ?? 0}`);
    stream.addEventListener("parts", (event) => {
      for (const part of JSON.parse(event.data)) Rota.show(part.id, part.html);
    });
    stream.addEventListener("log", (event) => {
      document.dispatchEvent(new CustomEvent("rota:log", { detail: JSON.parse(event.data) }));
    });
    stream.addEventListener("trouble", (event) => tell(JSON.parse(event.data).sentence));
    stream.addEventListener("signed-out", leave);
    stream.addEventListener("open", () => { document.body.dataset.stream = "open"; tell(""); });
    // The browser would begin again with the same lines: so we do, behind those that are here.
    stream.addEventListener("error", () => {
      const isRefused = stream.readyState === EventSource.CLOSED;
      close();
      tell(isRefused ? "the server does not go on with this page; loaded again, it says why"
        : "the connection to the server is lost; it is tried again");
      setTimeout(keep, 2000);
    });
  }

  // Why the page is not what it would be now, on the page itself: nobody takes it for true meanwhile.
  function tell(sentence) {
    const place = Rota.find("#trouble");
    place.textContent = sentence && `Not up to date: ${sentence}`;
    place.hidden = !sentence;
    button.classList.toggle("stale", Boolean(sentence));
  }

  // A key that was just made ends the ones before it, and must be read before the page goes.
  function leave() {
    if (Rota.find("[data-revealed]:not([hidden])")) Rota.toast("Signed out: sign in with the new key.", true);
    else location.href = "/sign-in";
  }

  function close() {
    stream?.close();
    stream = null;
    delete document.body.dataset.stream;
  }

  function keep() {
    const wanted = button.getAttribute("aria-pressed") === "true" && !document.hidden;
    if (wanted && !stream) open();
    if (!wanted) close();
  }

  button.addEventListener("click", () => {
    const isLive = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isLive));
    if (!isLive) tell("");
    keep();
  });
  document.addEventListener("visibilitychange", keep);
  addEventListener("pagehide", close);
  addEventListener("pageshow", keep);
  keep();
})();
