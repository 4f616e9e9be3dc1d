/**
 * The script of the shop: searches as one types, presses a button without leaving the page, and takes in what has
 * changed. Every page also works without it.
 */
export const shopScript = `
const search = document.querySelector('input[type=search]');
const message = document.querySelector('[role=alert]');
const unanswered = 'The demo does not answer. Is it still running?';
let newest = 0;

function say(text) {
  message.textContent = text;
  message.hidden = text === '';
}

// Changes only what differs, so that a button which is being pressed, the focus and a chosen count stay as they are.
function merge(old, now) {
  if (old.isEqualNode(now)) return;
  if (old.nodeName !== now.nodeName) return old.replaceWith(now);
  if (old.nodeType === Node.TEXT_NODE) return void (old.data = now.data);
  for (const { name } of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const [before, after] = [[...old.childNodes], [...now.childNodes]];
  if (before.length !== after.length) old.replaceChildren(...after);
  else before.forEach((each, index) => merge(each, after[index]));
}

// Shows the page of an answer. Shows a message where nothing answers, or where a press is refused.
async function take(asked, isPress) {
  const mine = ++newest;
  let answer, text;
  try {
    answer = await asked;
    text = await answer.text();
  } catch {
    return say(unanswered);
  }
  const page = new DOMParser().parseFromString(text, 'text/html');
  const shop = page.getElementById('shop');
  if (shop === null || (isPress && !answer.ok)) return say((shop?.querySelector('h1') ?? page.body).textContent);
  if (mine !== newest) return;
  if (isPress || message.textContent === unanswered) say('');
  for (const id of ['shop', 'panel']) merge(document.getElementById(id), page.getElementById(id));
}

const refresh = () => take(fetch(location.href), false);

search.addEventListener('input', () => {
  history.replaceState(null, '', '/search?text=' + encodeURIComponent(search.value));
  refresh();
});

// A page that answers a form cannot be asked for again.
const isStill = () => document.querySelector('.verdict') !== null;

document.addEventListener('submit', async (event) => {
  const { target, submitter } = event;
  if (isStill() || target.closest('#panel') === null) return;
  event.preventDefault();
  // Made before the button is disabled: the data of a form has no disabled button.
  const body = new URLSearchParams(new FormData(target, submitter));
  submitter.disabled = true;
  await take(fetch(target.action, { method: 'POST', body }), true);
  submitter.disabled = false;
});

async function look() {
  if (!document.hidden && !isStill()) await refresh();
  setTimeout(look, 1000);
}
setTimeout(look, 1000);
`;
