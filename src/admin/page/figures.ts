import { fewestAudits } from '../../domain/truth/estimate.ts';
import { ago, counted, duration, megabytes, number } from '../../format.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { changesText, earlierText } from '../../status/on-sale-text.ts';
import { outdatedText } from '../../status/outdated-share.ts';
import { countedIn } from '../../status/verdict.ts';
import { type Html, html } from './html.ts';

/** Shows what a shopper sees now, and what waits for a person. */
export function figuresPart(status: DaemonStatus, now: number): Html {
  const { products, bookable, last_hour, conditions } = status;
  const waiting = countedIn(conditions);
  const before = (figure: 'sellable' | 'days') => earlierText(bookable.earlier, figure, now) ?? 'a week ago: not known';
  return html`<section class="wide lead" aria-label="What a shopper sees"><dl class="figures">
${figure('Products on sale', number(products.sellable), before('sellable'))}
${figure(bookable.currency === null ? 'Bookable days' : `Bookable days in ${bookable.currency}`, number(bookable.days), before('days'))}
${figure('Outdated data shown', ...outdated(status))}
${figure('Changes, last hour', number(last_hour.changes), changesText(last_hour) ?? 'none was found')}
${figure('Waits for a person', waiting.length === 0 ? 'nothing' : number(waiting.length), waiting.length === 0 ? null : waiting.map(({ about }) => about).join(', '))}
</dl></section>
`;
}

function outdated({ truth }: DaemonStatus): [value: string, more: string] {
  const { audited, from_at, to_at } = truth;
  const text = outdatedText(truth);
  if (text === null) return ['not known', `${number(audited)} of ${fewestAudits} random reads yet`];
  const over = from_at === null || to_at === null ? '' : ` in ${duration(to_at - from_at)}`;
  return [text, `by ${counted(audited, 'random read')}${over}`];
}

/** Shows the figures of the daemon and its file. */
export function operationPart(status: DaemonStatus, now: number): Html {
  const { products, images, oldest_image_at, filled_at, records, file_bytes, wal_bytes, daemon } = status;
  const read = records.all - records.never_fetched;
  return html`<section class="wide"><h2>The daemon and its file</h2><dl class="figures">
${figure('Filled', filled_at === null ? 'not yet' : ago(filled_at, now), filled_at === null ? (records.all === 0 ? 'nothing read yet' : `${number(read)} of ${counted(records.all, 'record')} read`) : 'every record was read once')}
${figure('Products', number(products.visible), `visible; ${number(products.withdrawn)} withdrawn`)}
${figure('Images shown', images === 0 ? 'none' : number(images), oldest_image_at === null ? null : `oldest confirmed ${ago(oldest_image_at, now)}`)}
${figure('Calls a second', `≤ ${daemon.rate.toFixed(1)}`, `ceiling ${daemon.ceiling}; throttled ${times(daemon.throttled)}`)}
${figure('File', megabytes(file_bytes), `${megabytes(wal_bytes)} of write-ahead log`)}
</dl></section>
`;
}

function figure(name: string, value: string, more: string | null): Html {
  return html`<div><dt>${name}</dt><dd>${value}${more === null ? null : html`<small>${more}</small>`}</dd></div>`;
}

function times(count: number): string {
  return count === 1 ? 'once' : count === 0 ? 'never' : `${number(count)} times`;
}
