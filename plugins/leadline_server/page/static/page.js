// The page works without this: citations are links, the live page reloads itself, every action is a form.
"use strict";
const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
document.body.classList.add("js");
// Texts in the language of the page, which brings those of the scripts if it is not English.
const words = JSON.parse($("#words")?.textContent ?? "{}");
const _ = (text, values) => (words[text] ?? text).replace(/%\((\w+)\)s/g, (all, name) => values[name]);
const locale = document.documentElement.lang.replace(/^en$/, "en-GB");

// A page of this server as a document; its scripts do not run.
function load(address) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.onload = () => (request.status === 200 && request.response ? done(request.response) : failed(request.status));
    request.onerror = () => failed(0);
    request.send();
  });
}

// --- citations ---------------------------------------------------------------------------------------------------
const panel = $("#evidence .panel");
const cites = panel ? $$(".report .citation") : [];
const empty = panel ? [...panel.childNodes] : [];
const known = new Map();
let chosen = null;

async function show(cite) {
  chosen?.classList.remove("on");
  chosen = cite;
  cite.classList.add("on");
  history.replaceState(null, "", `#cite-${cites.indexOf(cite) + 1}`);
  // The verdicts on the claims of this citation come first.
  const claims = (cite.dataset.claims || "").replaceAll("claim-", "").replaceAll(" ", ",");
  const address = cite.getAttribute("href") + (claims && `?claims=${claims}`);
  if (!known.has(address)) known.set(address, load(address));
  try {
    const body = $("#evidence-body", await known.get(address));
    if (chosen !== cite) return;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "quiet close";
    close.textContent = _("Close");
    close.addEventListener("click", back);
    panel.replaceChildren(close, document.importNode(body, true));
    for (const stored of $$(".stored", panel)) {
      const mark = $("mark.is-quoted", stored) || $("mark", stored);
      if (mark) stored.scrollTop = Math.max(0, mark.offsetTop - 60);
    }
    const box = $("#evidence");
    box.scrollTop = 0;
    // On a narrow screen the passage covers the lower half.
    if (getComputedStyle(box).position === "fixed") {
      window.scrollBy(0, cite.getBoundingClientRect().top - window.innerHeight / 5);
    }
  } catch (status) {
    known.delete(address);
    if (status) location.href = address;
    else offline(true);
  }
}

function back() {
  if (!chosen) return;
  chosen.classList.remove("on");
  chosen.focus();
  chosen = null;
  history.replaceState(null, "", location.pathname + location.search);
  panel.replaceChildren(...empty);
}

function step(by) {
  if (!cites.length) return;
  const at = chosen ? cites.indexOf(chosen) + by : by > 0 ? 0 : cites.length - 1;
  const next = cites[Math.max(0, Math.min(cites.length - 1, at))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "center" });
  show(next);
}

// --- confirmations -----------------------------------------------------------------------------------------------
const asking = $("#ask-first");

async function ask(link) {
  try {
    const form = document.importNode($("#confirm-form", await load(link.href)), true);
    asking.replaceChildren(form);
    asking.showModal();
    $("[data-close]", form).addEventListener("click", (event) => {
      event.preventDefault();
      asking.close();
    });
  } catch {
    location.href = link.href;
  }
}

document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  for (const menu of $$(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  const cite = event.target.closest(".report .citation");
  const link = event.target.closest("[data-ask-first]");
  if (cite && panel) {
    event.preventDefault();
    show(cite);
  } else if (link) {
    event.preventDefault();
    ask(link);
  }
});

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && $(".menu[open]");
  if (menu) {
    menu.open = false;
    return $("summary", menu).focus();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "Escape") back();
  else if (event.key === "?") $("#keys").showModal();
  else if (event.key === "/" && $("#find")) {
    event.preventDefault();
    $("#find").focus();
  }
});

// --- the list of runs ----------------------------------------------------------------------------------------------
const list = $("[data-pick-two]");
if (list) {
  const boxes = $$("input[name=run]", list);
  const update = () => {
    const count = boxes.filter((box) => box.checked).length;
    $("[data-compare]", list).disabled = count !== 2;
    for (const box of boxes) box.disabled = count >= 2 && !box.checked;
  };
  list.addEventListener("change", update);
  update();
}

// Runs under the days of the reader's clock; those of a search are listed by how well they match.
for (const runs of $$("[data-days]")) {
  const midnight = (...time) => new Date(...time).setHours(0, 0, 0, 0);
  const weekday = (new Date().getDay() + 6) % 7;
  const heading = (run) => {
    if ($(".pinned", run)) return _("Pinned");
    const time = $("time", run)?.dateTime ?? Date.now();
    const days = Math.round((midnight() - midnight(time)) / 864e5);
    if (days < 2) return days < 1 ? _("Today") : _("Yesterday");
    if (days <= weekday + 7) return days <= weekday ? _("This week") : _("Last week");
    return new Date(time).toLocaleString(locale, { month: "long", year: "numeric" });
  };
  let title = null, days = null;
  for (const run of [...runs.children]) {
    if (title?.textContent !== heading(run)) {
      title = Object.assign(document.createElement("h2"), { textContent: heading(run) });
      days = runs.cloneNode();
      runs.before(title, days);
    }
    days.append(run);
  }
  runs.remove();
}

// --- forms to ask: sent from the keyboard ------------------------------------------------------------------------------
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea[name=question]")) event.target.form.requestSubmit();
});

// --- times as the reader's clock has them -----------------------------------------------------------------------------
for (const time of $$("time[datetime]")) {
  time.title = time.textContent;
  time.textContent = new Date(time.dateTime).toLocaleString(locale, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

$("input#link")?.select();
for (const button of $$("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    document.getElementById(button.dataset.copy).select();
    if (document.execCommand("copy")) button.textContent = _("Copied"); // the newer way needs HTTPS
  });
}
// On a phone the report begins before its contents.
if (matchMedia("(max-width: 60rem)").matches) for (const part of $$(".fold")) part.open = false;

// --- contents: where the reader is -----------------------------------------------------------------------------------
const entries = $$(".contents a").map((link) => [document.getElementById(link.hash.slice(1)), link]);
if (entries.length) {
  let waiting = false;
  const update = () => {
    waiting = false;
    const above = entries.filter(([target]) => target && target.getBoundingClientRect().top < 140);
    for (const [, link] of entries) link.classList.toggle("here", link === above.at(-1)?.[1]);
  };
  addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(update);
    waiting = true;
  }, { passive: true });
  update();
}

// --- while a run is at work --------------------------------------------------------------------------------------------
function offline(is) {
  $("#offline").hidden = !is;
}

const two = (value) => String(value).padStart(2, "0");
function tick() {
  for (const clock of $$("[data-until]")) {
    const left = Math.max(0, Math.round((new Date(clock.dataset.until) - Date.now()) / 1000));
    clock.textContent = `${Math.floor(left / 60)}:${two(left % 60)}`;
  }
  for (const clock of $$("[data-clock]")) {
    const past = Math.max(0, Math.round((Date.now() - new Date(clock.dataset.clock)) / 1000));
    const values = { minutes: Math.floor(past / 60), seconds: past % 60 };
    clock.textContent = past < 60 ? _("%(seconds)s s", values) : _("%(minutes)s min %(seconds)s s", values);
  }
}

// Replaces the nodes that have changed, and leaves what the reader opened or writes.
function put(old, part) {
  if (old.id === "part-questions" && old.contains(document.activeElement)) return;
  for (const name of old.getAttributeNames()) if (name !== "open" && !part.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of part.attributes) if (name !== "open") old.setAttribute(name, value);
  [...part.childNodes].forEach((node, place) => {
    const there = old.childNodes[place] ?? null;
    const known = (node.id && [...old.children].find((child) => child.id === node.id)) || there;
    if (known?.nodeName !== node.nodeName || known.id !== node.id) old.insertBefore(document.importNode(node, true), there);
    else {
      if (known !== there) old.insertBefore(known, there);
      if (known.isEqualNode(node)) return;
      if (node.nodeType === Node.TEXT_NODE) known.data = node.data;
      else put(known, node);
    }
  });
  while (old.childNodes.length > part.childNodes.length) old.lastChild.remove();
}

// A word when the run ends: the browser asks for the permission after a click, and never before.
const tell = $("#tell");
let notify = () => {};
if (tell && "Notification" in window) {
  tell.hidden = false;
  tell.addEventListener("click", async () => {
    const granted = (await Notification.requestPermission()) === "granted";
    tell.disabled = true;
    tell.textContent = granted ? _("You will be told; leave this page open") : _("Your browser does not allow it");
    if (granted) notify = (text) => { try { new Notification(text); } catch { /* phones only show those of apps */ } };
  });
}

const { live, events } = document.body.dataset;
if (live != null) {
  let busy = false, again = false, stream = null;
  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const found = await load(location.pathname);
      // A run that was interrupted has none; what is typed here stays until an event tells the end.
      for (const part of $$("[data-part]", found)) {
        const old = document.getElementById(part.id);
        if (old) put(old, part);
      }
      document.title = found.title;
      tick();
      offline(false);
    } catch (status) {
      if (status === 0 || status >= 500) offline(true);
      else if (status !== 429) location.reload();
    }
    setTimeout(() => {
      busy = false;
      if (again) { again = false; refresh(); }
    }, 700);
  };
  const watch = () => {
    stream = new EventSource(events);
    stream.onopen = () => { offline(false); refresh(); };
    stream.onerror = () => {
      offline(true);
      // The browser comes back by itself, except after an error of a proxy.
      if (stream.readyState === EventSource.CLOSED) setTimeout(watch, 3000);
    };
    const kinds = ["run.started", "progress", "message", "query", "found", "source", "unread", "question", "review", "usage", "error", "notice", "route", "call.started", "call.finished", "call.retried", "call.held", "session.finished"];
    for (const kind of kinds) stream.addEventListener(kind, refresh);
    stream.addEventListener("question", () => notify(`${_("Leadline asks")}: ${document.title}`));
    stream.addEventListener("run.finished", async () => {
      stream.close();
      await load(location.pathname).then((page) => notify(page.title)).catch(() => {});
      location.reload();
    });
  };
  watch();
  tick();
  // A draft grows without events, and so do the time and the place in the queue.
  setInterval(() => { if ($("[data-writing]")) refresh(); }, 1000);
  setInterval(refresh, 5000);
  setInterval(tick, 1000);
}

if (/^#cite-\d+$/.test(location.hash)) {
  const cite = cites[Number(location.hash.slice(6)) - 1];
  if (cite) {
    cite.scrollIntoView({ block: "center" });
    show(cite);
  }
}
