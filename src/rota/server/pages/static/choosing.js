// A field with choices under it: typed into, chosen from by keys or a pointer. The server makes the choices.
"use strict";

// `addressOf()` is where the choices for what is typed are, or nothing; `choose(option)` takes one.
Rota.combobox = (field, list, { addressOf, choose, isFirstMarked }) => {
  const status = Rota.find(`#${list.id}-status`);
  const options = () => Rota.all("[role=option]", list);
  const marked = () => options().find((option) => option.getAttribute("aria-selected") === "true");
  let asked = 0, answered = 0;
  let hasStepped = false, isAwaited = false;

  function mark(wanted) {
    for (const option of options()) option.setAttribute("aria-selected", String(option === wanted));
    if (wanted) field.setAttribute("aria-activedescendant", wanted.id);
    else field.removeAttribute("aria-activedescendant");
    wanted?.scrollIntoView({ block: "nearest" });
  }

  function open(isOpen) {
    list.hidden = !isOpen;
    field.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) mark(null);
  }

  function close() {
    answered = asked += 1;  // what is still under way comes too late
    open(false);
  }

  async function look() {
    const address = addressOf();
    const number = ++asked;
    if (!address) return close();
    const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
    const html = answer?.ok ? await answer.text() : "";
    if (number !== asked) return;  // somebody has typed on
    answered = number;
    const before = marked()?.textContent;  // who stepped there meanwhile stays there
    list.innerHTML = html;
    const count = options().length;
    if (status) status.textContent = count === 1 ? "1 choice" : `${count} choices`;
    open(count > 0);
    const same = options().find((option) => hasStepped && option.textContent === before);
    if (same) mark(same);
    else if (isFirstMarked) mark(options()[0]);
    if (isAwaited && marked()) choose(marked());
    isAwaited = false;
  }

  function step(by) {
    const all = options();
    if (!all.length) return;
    const at = all.indexOf(marked());
    hasStepped = true;
    mark(all[(at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by + all.length) % all.length]);
  }

  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const chosen = !list.hidden && marked();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) look();
      else step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && chosen) {
      event.preventDefault();
      isAwaited = asked !== answered;  // these are the choices for an earlier word: the next ones are on their way
      if (!isAwaited) choose(chosen);
    } else if (event.key === "Escape" && !list.hidden && !isFirstMarked) {
      event.preventDefault();
      close();
    }
  });
  field.addEventListener("input", () => {
    hasStepped = isAwaited = false;
    if (!isFirstMarked) mark(null);
    look();
  });
  list.addEventListener("mousedown", (event) => event.preventDefault());  // the field keeps the focus
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) choose(option);
  });
  return { look, close };
};
