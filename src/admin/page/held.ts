import { limitOf } from '../../domain/evidence/claims.ts';
import { isOpen } from '../../domain/evidence/hold.ts';
import { amountTexts, claimText, type HeldClaims, stateText, whatToType } from '../../domain/evidence/words.ts';
import { ago, number } from '../../format.ts';
import type { MirrorStatus } from '../../mirror/status/status.ts';
import { type Html, html } from './html.ts';
import { productLink } from './recent.ts';
import { tableOf } from './tables.ts';

/** Shows the held claims, their numbers of records, and the commands that decide about them; null: none is held. */
export function heldPart({ held }: MirrorStatus, now: number): Html | null {
  if (held.length === 0) return null;
  return html`<section class="wide"><h2>Held</h2>
${tableOf<HeldClaims>(
  'Too many answers take these away at once',
  [
    { heading: 'claimed', cell: (each) => html`${claimText(each)}<code>${each.subject}</code>` },
    { heading: 'records', kind: 'number', cell: ({ claiming, able }) => `${number(claiming)} of ${number(able)}` },
    { heading: 'limit', kind: 'number', cell: ({ able }) => number(limitOf(able)) },
    { heading: 'since', kind: 'number', cell: ({ since }) => ago(since, now) },
    { heading: 'state', cell: (each) => stateText(each, now) },
    { heading: 'examples', cell: ({ subject, examples }) => examplesOf(subject, examples) },
    { heading: 'to decide, type', cell: (each) => (isOpen(each) ? commands(each.subject) : null) },
  ],
  held,
)}</section>
`;
}

function examplesOf(subject: HeldClaims['subject'], examples: HeldClaims['examples']): Html {
  return html`${examples.map((each, index) => {
    const [shown, said] = amountTexts(subject, each.edition, each);
    return html`${index === 0 ? '' : '; '}${productLink(each.product_id)}: ${shown}, answered ${said}`;
  })}`;
}

function commands(subject: HeldClaims['subject']): Html {
  return html`${whatToType(subject).map((line, index) => html`${index === 0 ? null : html`<br>`}<code class="typed">${line}</code>`)}`;
}
