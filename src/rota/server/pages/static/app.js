// What every page does: calls of the API by buttons and forms, parts that are shown anew, the keyboard.
"use strict";

const Rota = (() => {
  const find = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  function toast(text, isBad = false) {
    const shown = document.createElement("div");
    shown.className = isBad ? "toast bad" : "toast";
    shown.textContent = text;
    find("#toasts").append(shown);
    setTimeout(() => shown.remove(), isBad ? 12000 : 5000);
  }

  // -- the API ---------------------------------------------------------------------------------------------------

  // Calls an operation; `body` is JSON text. What the API says when it refuses is the error's message.
  async function call(method, path, body) {
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    const answer = await fetch(path, { method, headers, body });
    const said = await answer.json().catch(() => ({}));
    if (answer.status === 401) location.href = `/sign-in?then=${encodeURIComponent(location.pathname + location.search)}`;
    if (!answer.ok) throw new Error(said.error || said.message || `the server answered ${answer.status}`);
    return said;
  }

  function confirmed(question) {
    const dialog = find("#confirm");
    find("#confirm-question").textContent = question;
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((decide) =>
      dialog.addEventListener("close", () => decide(dialog.returnValue === "yes"), { once: true }));
  }

  async function done(element, asked, said) {
    if (asked.then) {
      location.href = asked.then.replace("{uuid}", encodeURIComponent(said.uuid ?? ""));
      return;
    }
    toast(asked.done || "Done.");
    reveal(element, said);
    await refresh();
  }

  // What is shown this once, in the form that asked for it.
  function reveal(form, said) {
    const place = form.dataset.reveal && find("[data-revealed]", form);
    if (!place) return;
    place.textContent = said[form.dataset.reveal];
    place.hidden = false;
  }

  // `data-call="POST /api/..."`, and perhaps `data-body`, `data-confirm`, `data-done`, `data-then`: as they are when it is
  // pressed. Shown anew while somebody is asked or answers, the button may be one for something else.
  async function press(button) {
    const asked = { ...button.dataset };
    if (asked.confirm && !(await confirmed(asked.confirm))) return;
    const [method, path] = asked.call.split(" ");
    button.disabled = true;
    try {
      await done(button, asked, await call(method, path, method === "DELETE" ? undefined : asked.body || "{}"));
    } catch (error) {
      toast(error.message, true);
    } finally {
      button.disabled = false;
    }
  }

  // The JSON of a form. Fields left empty are left out; of one with `data-changes` only what was changed goes, and what
  // was emptied is set back.
  function jsonOf(form) {
    const pieces = [], inner = {};  // a field called `a.b` is the field `b` of an object `a`
    for (const field of all("[name]", form)) {
      const value = field.value.trim();
      const isSame = "changes" in form.dataset && !("always" in field.dataset) && value === valueBefore(field);
      const isSetBack = "changes" in form.dataset && value === "";
      if (isSame || (value === "" && !isSetBack)) continue;
      const [outer, name] = field.name.split(".");
      const into = name === undefined ? pieces : (inner[outer] ??= []);
      into.push(`${JSON.stringify(name ?? outer)}:${isSetBack ? "null" : jsonOfField(field, value)}`);
    }
    for (const [name, fields] of Object.entries(inner)) pieces.push(`${JSON.stringify(name)}:{${fields.join(",")}}`);
    return `{${pieces.join(",")}}`;
  }

  function valueBefore(field) {
    if (field.tagName !== "SELECT") return field.defaultValue.trim();
    return ([...field.options].find((option) => option.defaultSelected) ?? field.options[0])?.value ?? "";
  }

  // JSON that was typed goes as it was typed, so that numbers of any length stay what they are.
  function jsonOfField(field, value) {
    if (field.dataset.as === "list") return JSON.stringify(value.split(/[\s,]+/).filter(Boolean));
    if (!field.dataset.as) return JSON.stringify(value);
    try { JSON.parse(value); } catch (error) { throw new Error(`${field.name}: this is no JSON: ${error.message}`); }
    return value;
  }

  async function send(form) {
    const [method, path] = form.dataset.call.split(" ");
    tellProblem(form, "");
    try {
      await done(form, form.dataset, await call(method, path, jsonOf(form)));
    } catch (error) {
      tellProblem(form, error.message);
    }
  }

  // What is wrong, at the field that it begins with: `timeout: ...`, `metadata.command: ...`; else at the end of the form.
  function tellProblem(form, text) {
    const where = text.split(":")[0];
    const fields = all("label > [name]", form);
    const isAt = (name) => where === name || where.startsWith(`${name}.`) || where.startsWith(`${name}[`);
    const field = fields.find((one) => isAt(one.name));
    for (const one of fields) {
      if (one === field) one.setAttribute("aria-invalid", "true");
      else one.removeAttribute("aria-invalid");
    }
    all("label .problem", form).forEach((shown) => shown.remove());
    const common = find("p.problem", form);
    if (common) common.textContent = field ? "" : text;
    else if (text && !field) toast(text, true);
    if (!field) return;
    const shown = document.createElement("span");
    shown.className = "problem";
    shown.role = "alert";
    shown.textContent = text;
    field.after(shown);
    field.focus();
  }

  // -- many jobs at once -----------------------------------------------------------------------------------------

  // Ids, also of rows that are no longer shown: what somebody chose never becomes "all that match".
  const chosen = new Set();

  function choose(box) {
    if (box.checked) chosen.add(box.value);
    else chosen.delete(box.value);
  }

  async function changeMany(button) {
    const word = button.dataset.bulk;
    try {
      const ids = [...chosen];
      await (ids.length ? changeChosen(word, ids) : changeAll(word, JSON.parse(button.dataset.filter)));
    } catch (error) {
      toast(error.message, true);
    }
    await refresh();
  }

  const jobsOf = (count) => (count === 1 ? "1 job" : `${count.toLocaleString("en")} jobs`);

  async function changeChosen(word, ids) {
    const jobs = jobsOf(ids.length);
    if (!(await confirmed(`${word[0].toUpperCase()}${word.slice(1)} ${jobs}?`))) return;
    const refused = [];
    for (const id of ids) {
      const one = word === "delete" ? call("DELETE", `/api/jobs/${id}`) : call("POST", `/api/jobs/${id}/${word}`, "{}");
      await one.catch((error) => refused.push(error.message));
    }
    chosen.clear();
    tellChosen();
    if (refused.length) toast(`${refused.length} of ${ids.length} were left as they are: ${refused[0]}`, true);
    else toast(`Done to ${jobs}.`);
  }

  async function changeAll(word, filter) {
    const path = `/api/jobs/${word}`;
    const counted = await call("POST", path, JSON.stringify({ ...filter, dry_run: true }));
    const count = counted.matched.toLocaleString("en");
    const which = counted.more ? "the first that match" : "all that match";
    if (!counted.matched) return toast(`No job that matches can be changed so: there is none to ${word}.`);
    if (!(await confirmed(`${word[0].toUpperCase()}${word.slice(1)} ${jobsOf(counted.matched)}, ${which}?`))) return;
    let changed = 0, said;
    do {
      // Never more than somebody said yes to: others may match meanwhile, and a job that fails again matches again.
      said = await call("POST", path, JSON.stringify({ ...filter, limit: counted.matched - changed }));
      changed += said.changed;
    } while (said.more && said.changed && changed < counted.matched);
    const done = changed.toLocaleString("en");
    toast(changed === counted.matched ? `Done to ${jobsOf(changed)}.` : `Done to ${done} of ${count} jobs: the others changed meanwhile.`);
  }

  function tellChosen() {
    const count = chosen.size;
    all("[data-chosen]").forEach((place) => { place.textContent = count ? `${count} chosen` : "all that match"; });
    all("input[data-choose]").forEach((box) => {
      box.checked = chosen.has(box.value);
      box.closest("tr").classList.toggle("chosen", box.checked);
    });
  }

  // -- parts of the page -----------------------------------------------------------------------------------------

  let turn = 0;  // grows with everything that is asked for or comes by itself
  const shownIn = new Map();  // the turn of what is shown, by part

  // Makes a part what it is now, in place: what did not change stays, with its focus. What was asked for before that which
  // is shown is old.
  async function show(id, html, askedIn = ++turn) {
    const target = document.getElementById(id);
    if (!target || askedIn < (shownIn.get(id) ?? 0)) return;
    shownIn.set(id, askedIn);
    await htmx.swap({ target, sourceElement: target, text: html, swap: "innerMorph" });
    document.dispatchEvent(new CustomEvent("rota:shown", { detail: target }));
  }

  async function refresh() {
    const askedIn = ++turn;
    // Who leaves the page meanwhile needs no answer.
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
    if (!answer?.ok) return;
    const whole = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of all("[data-part]", whole)) await show(part.id, part.innerHTML, askedIn);
  }

  // -- the keyboard ----------------------------------------------------------------------------------------------

  let isGoing = false;

  function typed(event) {
    if (event.target.closest("input, textarea, select, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
    const entry = isGoing && all("nav [data-key]").find((one) => one.dataset.key === event.key);
    isGoing = event.key === "g";
    if (entry) location.href = entry.href;
    else if (event.key === "/") focusSearch(event);
    else if (event.key === "?") find("#shortcuts").showModal();
    else if (event.key === "j" || event.key === "k") stepRow(event.key === "j" ? 1 : -1);
    else if (event.key === "l") find("[data-live]")?.click();
  }

  function focusSearch(event) {
    const field = find("main input[type=search]");
    event.preventDefault();
    if (field) { field.focus(); field.select(); }
    else document.dispatchEvent(new CustomEvent("rota:palette"));
  }

  function stepRow(step) {
    const links = all("main tbody tr").map((row) => find("a", row)).filter(Boolean);
    const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
    links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus();
  }

  // -- times -----------------------------------------------------------------------------------------------------

  const inBrowsersZone = (iso) => new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });

  function tellLocalTimes() {
    all("time[data-local]").forEach((time) => { time.textContent = inBrowsersZone(time.dateTime); });
  }

  function begin() {
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.call) press(button);
      if (button.dataset.bulk) changeMany(button);
      if ("shortcuts" in button.dataset) find("#shortcuts").showModal();
      if ("themeToggle" in button.dataset) otherTheme();
      if (button.dataset.copy) navigator.clipboard?.writeText(button.dataset.copy).then(() => toast("Copied."));
    });
    document.addEventListener("submit", (event) => {
      if (event.target.dataset.call) { event.preventDefault(); send(event.target); }
    });
    document.addEventListener("change", (event) => {
      if ("chooseAll" in event.target.dataset) {
        all("input[data-choose]").forEach((box) => { box.checked = event.target.checked; choose(box); });
      }
      if ("choose" in event.target.dataset) choose(event.target);
      tellChosen();
      if ("go" in event.target.dataset) event.target.form.requestSubmit();
    });
    document.addEventListener("mouseover", (event) => {
      const time = event.target.closest?.("time[datetime]");
      if (time && !time.title.includes("\n")) {
        time.title = `${time.title}\n${inBrowsersZone(time.dateTime)}`;
      }
    });
    document.addEventListener("keydown", typed);
    document.addEventListener("rota:shown", () => { tellChosen(); tellLocalTimes(); });
    document.addEventListener("htmx:after:swap", tellLocalTimes);
    all("input[data-choose]").forEach(choose);  // a browser may have kept them from before a reload
    tellChosen();
    tellLocalTimes();
  }

  function otherTheme() {
    const isDark = getComputedStyle(document.body).colorScheme === "dark" ||
      (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = isDark ? "light" : "dark";
    localStorage.setItem("rota-theme", document.documentElement.dataset.theme);
    document.dispatchEvent(new CustomEvent("rota:theme"));
  }

  begin();
  return { all, find, press, refresh, show, toast };
})();
