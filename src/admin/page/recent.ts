import { ago, number, short } from '../../format.ts';
import type { ListedDelivery } from '../../inbox/delivery.ts';
import type { FeedChange } from '../../mirror/changes/changes.ts';
import { changeText } from './change-text.ts';
import { type Html, html } from './html.ts';
import type { TitledChange } from './memory.ts';
import { type TableColumn, tableOf } from './tables.ts';

/** Lists the newest changes of the feed. */
export function changesPart(changes: readonly TitledChange[], now: number): Html {
  const words = (change: TitledChange) =>
    html`<a href="/product?id=${change.product_id}">${short(change.title ?? `Product ${change.product_id}`, 80)}</a> ${changeText(change)}.`;
  return changesTable(changes, words, 'None yet.', now);
}

/** Lists the newest changes of one product, which they begin with. */
export function changesOfProduct(changes: readonly FeedChange[], now: number): Html {
  return changesTable(changes, (change) => html`It ${changeText(change)}.`, 'None is in the feed.', now);
}

function changesTable<Change extends FeedChange>(
  changes: readonly Change[],
  words: (change: Change) => Html,
  none: string,
  now: number,
): Html {
  const columns: readonly TableColumn<Change>[] = [
    { heading: 'change', cell: (change) => html`<span class="said">${words(change)}</span>` },
    { heading: 'when', kind: 'number', cell: ({ at }) => ago(at, now) },
  ];
  return html`<section class="wide"><h2>Last changes</h2>
${changes.length === 0 ? html`<p class="none">${none}</p>` : tableOf('The newest of the feed', columns, changes)}</section>
`;
}

/** Links to the view of a product. */
export function productLink(product_id: number): Html {
  return html`<a href="/product?id=${product_id}">${String(product_id)}</a>`;
}

/** Lists the newest deliveries, and the state of each. */
export function deliveriesPart(deliveries: readonly ListedDelivery[], now: number): Html {
  return html`<section class="wide"><h2>Last deliveries</h2>
${deliveries.length === 0 ? html`<p class="none">None yet.</p>` : deliveriesTable(deliveries, now)}</section>
`;
}

function deliveriesTable(deliveries: readonly ListedDelivery[], now: number): Html {
  return tableOf<ListedDelivery>(
    'The newest first',
    [
      { heading: 'number', cell: ({ delivery_id }) => number(delivery_id) },
      { heading: 'when', kind: 'number', cell: ({ received_at }) => ago(received_at, now) },
      { heading: 'subscription', cell: ({ subscription_id }) => subscription_id },
      { heading: 'state', cell: stateOf },
    ],
    deliveries,
  );
}

function stateOf({ state, reason }: ListedDelivery): Html {
  const classes = { applied: 'yes', waiting: 'none', superseded: 'none', quarantined: 'some' } as const;
  return html`<span class="${classes[state]}">${state}</span>${reason === null ? null : html` <span class="soft">${short(reason, 60)}</span>`}`;
}
