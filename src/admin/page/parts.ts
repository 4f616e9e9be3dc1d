import { imageLimitMs } from '../../domain/catalogue/image.ts';
import { jobTrouble } from '../../domain/schedule/job-runs.ts';
import { nameOf } from '../../domain/schedule/offer.ts';
import { ago, duration, megabytes, number, resourceLabel } from '../../format.ts';
import type { MirrorStatus, SubscriptionStatus } from '../../mirror/status/status.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { type Html, html } from './html.ts';
import { productLink } from './recent.ts';
import { counted, tableOf } from './tables.ts';

/** Returns remarks that do not affect the verdict. */
export function remarksPart(
  { daemon, gaps, closures, records, failures, not_offered, jobs, conditions }: DaemonStatus,
  now: number,
): Html | null {
  const told_of = new Set(conditions.map(({ code }) => code));
  const told =
    daemon.told_until !== null &&
    daemon.told_until > now &&
    daemon.unreachable_since === null &&
    !told_of.has('service-pause');
  const remarks = [
    ...when(
      told_of.has('service-unreachable') || told_of.has('service-unusable') ? null : daemon.unreachable_since,
      (since) =>
        `The service has been unreachable for ${duration(now - since)}. Readers notice nothing until freshness targets are missed.`,
    ),
    ...when(
      told ? daemon.told_until : null,
      (until) => `The service asks us to wait another ${duration(until - now)}.`,
    ),
    ...when(
      closures.unconfirmed || null,
      (count) => `Products off sale by an announcement that no read has confirmed yet: ${number(count)}.`,
    ),
    ...when(
      closures.held || null,
      (count) => `Announced closures held back until their reads, because there are too many: ${number(count)}.`,
    ),
    ...gaps.map(
      ({ subscription_id, from_at, to_at, products }) =>
        `Nothing came ${subscription_id === null ? '' : `from ${subscription_id} `}for ${duration((to_at ?? now) - from_at)}${to_at === null ? ', still lasting' : `: ${number(products)} products made due so far`}.`,
    ),
    ...not_offered.flatMap(({ path, since, refusal, set }) =>
      when(
        refusal === 'path' || null,
        () =>
          `The service does not offer ${nameOf[path]}, noticed ${ago(since, now)}. It is asked again by itself; set ${set} to stop asking.`,
      ),
    ),
    ...(told_of.has('job-failing') ? [] : jobs).flatMap((job) =>
      when(jobTrouble(job, now), (trouble) => `A job: ${trouble}.`),
    ),
    ...when(
      records.failing || null,
      (count) =>
        `Records whose last read failed: ${number(count)}; retried ever more rarely, in the end once a day: ${number(records.quarantined)}.`,
    ),
  ];
  if (remarks.length === 0) return null;
  const failing = tableOf<MirrorStatus['failures'][number]>(
    'Why they failed',
    [
      { heading: 'resource', cell: ({ resource }) => resourceLabel(resource) },
      { heading: 'records', kind: 'number', cell: ({ records }) => number(records) },
      { heading: 'last failure', cell: ({ failure }) => html`<code>${failure}</code>` },
    ],
    failures,
  );
  return html`<section class="wide"><h2>Worth knowing</h2>
<ul>${remarks.map((remark) => html`<li>${remark}</li>`)}</ul>
${failures.length === 0 ? null : failing}</section>
`;
}

export function callsPart({ daemon }: DaemonStatus): Html {
  const lanes = Object.entries(daemon.lanes).map(([lane, calls]) => ({ lane, calls }));
  return html`<section><h2>Calls to the service</h2>
${tableOf(
  `${number(daemon.calls)} since the daemon was started, ${number(daemon.calls_in_flight)} under way`,
  [
    { heading: 'lane', cell: ({ lane }) => lane },
    { heading: 'share', cell: ({ calls }) => callsBar(calls, Math.max(...lanes.map((each) => each.calls))) },
    { heading: 'calls', kind: 'number', cell: ({ calls }) => number(calls) },
  ],
  lanes,
)}</section>
`;
}

/** Draws calls against those of the busiest lane, beside their number. */
function callsBar(calls: number, most: number): Html {
  const width = calls === 0 ? 0 : Math.max(1, Math.round((100 * calls) / most));
  return html`<svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="fresh" width="${width}" height="4"/></svg>`;
}

export function notificationsPart({ inbox, subscriptions }: DaemonStatus, now: number): Html {
  const received =
    inbox.receiver === null && inbox.received === 0
      ? html`<p class="none">No receiver runs: changes are found only by reading.</p>`
      : html`<p>${number(inbox.received)} deliveries: ${number(inbox.applied)} applied, ${number(inbox.superseded)} superseded, ${counted(inbox.quarantined, 'some')} in quarantine, ${number(inbox.waiting)} waiting. The last: ${inbox.last_delivery_at === null ? 'none yet' : ago(inbox.last_delivery_at, now)}. They take ${megabytes(inbox.stored_bytes)} of ${megabytes(inbox.budget_bytes)}${inbox.bodies_gone === 0 ? null : html`; ${counted(inbox.bodies_gone, 'some')} bodies went before their time`}.</p>`;
  const declared =
    subscriptions.length === 0
      ? html`<p class="none">No subscription is declared.</p>`
      : tableOf<SubscriptionStatus>(
          'Subscriptions',
          [
            { heading: 'id', cell: ({ subscription_id }) => subscription_id },
            { heading: 'status', cell: ({ status }) => subscriptionStatus(status) },
            {
              heading: 'covers',
              kind: 'number',
              cell: ({ covered_products }) => (covered_products === null ? 'what you sell' : number(covered_products)),
            },
            {
              heading: 'last delivery',
              kind: 'number',
              cell: ({ last_delivery_at }) =>
                last_delivery_at === null ? html`<span class="none">none yet</span>` : ago(last_delivery_at, now),
            },
            { heading: 'trust', kind: 'number', cell: trust },
          ],
          subscriptions,
        );
  return html`<section class="wide"><h2>Notifications</h2>
${received}
${declared}</section>
`;
}

function subscriptionStatus(status: string | null): Html {
  if (status === null) return html`<span class="none">not asked yet</span>`;
  const works = status === 'active' || status === 'accepted';
  return works ? html`<span class="yes">${status}</span>` : html`<span class="no">✗ ${status}</span>`;
}

function trust({ trust: share, trusted }: SubscriptionStatus): Html {
  const text = share === null ? html`<span class="none">none yet</span>` : html`${Math.round(share * 100)} %`;
  return trusted === 1 ? text : html`${text} <span class="no">✗ not trusted</span>`;
}

export function imagesPart({ images, oldest_image_at, unconfirmed_images }: MirrorStatus, now: number): Html {
  if (oldest_image_at === null) return html`<section><h2>Images</h2><p class="none">No image is shown.</p></section>\n`;
  const hidden = (at: number) => (at > now ? `in ${duration(at - now)}` : ago(at, now));
  return html`<section><h2>Images</h2>
<p>${number(images)} are shown. The oldest was confirmed ${ago(oldest_image_at, now)}; unless it is confirmed again, it is hidden ${hidden(oldest_image_at + imageLimitMs)}.</p>
${
  unconfirmed_images.length === 0
    ? null
    : tableOf<MirrorStatus['unconfirmed_images'][number]>(
        'Not confirmed for 12 days: the next to be hidden',
        [
          { heading: 'product', cell: ({ product_id }) => productLink(product_id) },
          { heading: 'images', kind: 'number', cell: ({ images: count }) => number(count) },
          { heading: 'confirmed', kind: 'number', cell: ({ verified_at }) => ago(verified_at, now) },
          { heading: 'hidden', kind: 'number', cell: ({ hidden_from }) => hidden(hidden_from) },
        ],
        unconfirmed_images,
      )
}</section>
`;
}

export function snapshotPart({ snapshot }: DaemonStatus, now: number): Html | null {
  if (snapshot === null) return null;
  const { path, published_at, bytes, every_ms, late, failure } = snapshot;
  const made = published_at === null ? 'none yet' : `${ago(published_at, now)}, ${megabytes(bytes ?? 0)}`;
  return html`<section><h2>Snapshot for readers on other hosts</h2>
<p><code>${path}</code>, every ${duration(every_ms)}. The last: ${made}${late === 1 ? html` <span class="no">✗ late</span>` : null}.</p>
${failure === null ? null : html`<p>The last attempt failed: <code>${failure}</code></p>`}</section>
`;
}

export function backupPart({ backup }: DaemonStatus, now: number): Html {
  const { directory, copies, made_at, bytes, late, failure, tried_at, tried_failure } = backup;
  const made = made_at === null ? 'none yet' : `${ago(made_at, now)}, ${megabytes(bytes ?? 0)}`;
  const tried =
    tried_at === null ? 'none yet' : `${ago(tried_at, now)}${tried_failure === null ? ', it can be restored' : ''}`;
  return html`<section><h2>Backups</h2>
<p>${number(copies)} in <code>${directory}</code>. The last: ${made}${late === 1 ? html` <span class="no">✗ late</span>` : null}. The last trial: ${tried}.</p>
${failure === null ? null : html`<p>The last attempt failed: <code>${failure}</code></p>`}${tried_failure === null ? null : html`<p><span class="no">✗ cannot be restored</span>: <code>${tried_failure}</code></p>`}</section>
`;
}

function when<Value>(value: Value | null, say: (value: Value) => string): string[] {
  return value === null ? [] : [say(value)];
}
