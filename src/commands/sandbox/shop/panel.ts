import { type Html, html } from '../../../admin/page/html.ts';
import type { Reader } from '../../../storefront/reader.ts';
import { type Breaking, type Button, type DaemonLog, places, type Target } from '../breaking.ts';

interface PanelParts {
  readonly shop: { readonly reader: Reader; today(): string };
  readonly breaking: Breaking;
  readonly log: DaemonLog;
  readonly page: string;
  readonly product_id: number;
}

/** The buttons that break the service, the seconds that each took, and the newest lines of the daemon's log. */
export function panel(
  { shop, breaking, log, page, product_id }: PanelParts,
  subject: { readonly product_id: number; readonly date: string | null } | null,
  here: string,
): Html {
  const id = subject?.product_id ?? product_id;
  const title = shop.reader.product(id)?.title ?? 'a product';
  const date = subject?.date ?? breaking.dateOf(id) ?? firstDate(shop.reader, id, shop.today());
  const buttons = breaking.buttons();
  const fields = { product: id, date, back: here };
  return html`<a class="close" href="#closed">Close</a><h2>Break the service</h2>
<p>The buttons change the simulated service. They act on <b>${title}</b> on ${date}. The seconds run until the shop, <a href="${page}">the page</a> and the log show it.</p>
<form method="post" action="/press">${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${buttons.map((button) => buttonPart(shop.reader, button, { product_id: id, date }))}</form>
<h2>Log of the daemon</h2>
<pre>${log.newest(12).toReversed().map(lineOf).join('\n')}</pre>`;
}

function buttonPart(
  reader: Reader,
  { name, label, about, state, target, seconds, pending }: Button,
  here: Target,
): Html {
  const times =
    seconds === null
      ? html`<p class="soft">${about}</p>`
      : html`<table${pending ? html` data-pending` : null}><tr>${places.map((place) => html`<th>${place}</th><td>${seconds[place] === null ? (pending ? '…' : '–') : `${seconds[place]?.toFixed(1)} s`}</td>`)}</tr></table>`;
  if (state === 'whole' || target === null)
    return html`<button name="button" value="${name}">${label}</button>${times}`;
  // An undo acts where the press did, which may be another product or date than those of this page.
  const elsewhere = target.product_id !== here.product_id || target.date !== here.date;
  const of = elsewhere ? ` (${reader.product(target.product_id)?.title ?? 'a product'}, ${target.date})` : '';
  return html`<button name="button" value="${name}" class="undo">${label}${of}</button>${times}`;
}

/** Shortens a line of JSON to its time, its message and its fields. */
function lineOf(line: string): string {
  try {
    const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
    return `${String(time).slice(11, 19)} ${level === 'info' ? '' : `${String(level)} `}${String(msg)} ${JSON.stringify(fields)}`;
  } catch {
    return line;
  }
}

function firstDate(reader: Reader, product_id: number, today: string): string {
  const days = reader.calendar(product_id, { from: today, columns: ['state'] });
  return (days.find(({ state }) => state === 'available') ?? days[0])?.date ?? today;
}
