// The log of a job: new lines at its end, followed or not; what is shown of it by level and by words.
"use strict";

(() => {
  const log = Rota.find("#log");
  if (!log) return;
  const mostLines = 5000;
  const follow = Rota.find("[data-follow]");
  const search = Rota.find("[data-log-search]");
  const level = Rota.find("[data-log-level]");

  const isFollowed = () => follow.getAttribute("aria-pressed") === "true";
  let topBefore = 0;

  function toEnd() {
    if (!isFollowed()) return;
    log.scrollTop = log.scrollHeight;
    topBefore = log.scrollTop;
  }

  // Who scrolls up reads, by whatever means: the log stands still until Follow is pressed.
  function noticeReader() {
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 2;
    if (log.scrollTop < topBefore && !isAtEnd) follow.setAttribute("aria-pressed", "false");
    topBefore = log.scrollTop;
  }

  function look(lines) {
    const wanted = search.value.trim().toLowerCase();
    for (const line of lines) line.classList.toggle("unfound", !line.textContent.toLowerCase().includes(wanted));
  }

  document.addEventListener("rota:log", (event) => {
    noticeReader();  // the browser may not have said yet that somebody scrolled
    const before = log.children.length;
    log.insertAdjacentHTML("beforeend", event.detail.html);
    log.dataset.next = event.detail.next;
    look([...log.children].slice(before));
    while (log.children.length > mostLines) log.firstElementChild.remove();
    Rota.find("#log-empty").hidden = true;
    toEnd();
  });
  follow.addEventListener("click", () => {
    follow.setAttribute("aria-pressed", String(!isFollowed()));
    toEnd();
  });
  log.addEventListener("scroll", noticeReader);
  search.addEventListener("input", () => { look([...log.children]); toEnd(); });
  level.addEventListener("change", () => { log.dataset.level = level.value; toEnd(); });
  toEnd();
})();
