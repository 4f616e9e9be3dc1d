import type { Clock } from '../../clock.ts';
import type { ShownProduct } from '../../mirror/catalogue/product-reads.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';

/** The ports of the play: the service that it changes, and the mirror that it watches. */
export interface Stage {
  readonly sandbox: Sandbox;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  say(line: string): void;
  /** Returns the description that the mirror shows. */
  description(product_id: number): string | null;
}

const lookEveryMs = 50;

/**
 * Lets the service close one product, open another and change a text, and reports each step once the mirror shows it.
 * Returns early when aborted. (It opens another product because the one just closed would take a minute: notifications
 * cause one read per product and minute.)
 */
export async function play(stage: Stage): Promise<void> {
  const { sandbox, mirror } = stage;
  const { world } = sandbox;
  const ids = mirror.catalogue.products.ids();
  const [closed, other] = ids.filter((id) => mirror.catalogue.products.shown(id)?.sellable);
  const opened = ids.find((id) => mirror.catalogue.products.shown(id)?.sale_status === 'disabled');
  if (closed === undefined || other === undefined || opened === undefined) return;
  const name = (id: number) => `${id} "${mirror.catalogue.products.shown(id)?.title ?? ''}"`;

  stage.say(`service  closes ${name(closed)}: out_of_season, expected back within_month, instead ${other}`);
  world.disable(closed, { reason: 'out_of_season', expected_reopening: 'within_month', alternative: other });
  const off = await until(stage, () => shownAs(mirror, closed, ({ sellable }) => !sellable));
  if (off === null) return;
  stage.say(
    `mirror   ${closed} is off sale as announced: ${off.disabled_reason}, expected back ${off.expected_reopening}`,
  );
  const confirmed = await until(stage, () => mirror.push.closures.inForce(closed)?.confirmed_at ?? null);
  if (confirmed === null) return;
  stage.say(`mirror   ${closed} is off sale, confirmed by a read; its alternative is ${name(other)}`);

  stage.say(`service  opens ${name(opened)}, and changes the description of ${other}`);
  world.enable(opened);
  world.edit(other, { field: 'description', value: 'Now with a roof terrace.' });
  const on = await until(stage, () => shownAs(mirror, opened, ({ sellable }) => sellable));
  if (on === null) return;
  stage.say(`mirror   ${opened} is on sale again, by a read`);
  const text = await until(stage, () => {
    const shown = stage.description(other);
    return shown === 'Now with a roof terrace.' ? shown : null;
  });
  if (text !== null) stage.say(`mirror   ${other} reads "${text}", as the service says it`);
}

function shownAs(
  mirror: Stage['mirror'],
  product_id: number,
  is: (shown: ShownProduct) => boolean,
): ShownProduct | null {
  const shown = mirror.catalogue.products.shown(product_id);
  return shown !== null && is(shown) ? shown : null;
}

/** Polls until `look` returns something; returns null if aborted. */
async function until<Seen>({ clock, signal }: Stage, look: () => Seen | null): Promise<Seen | null> {
  while (!signal.aborted) {
    const seen = look();
    if (seen !== null) return seen;
    await clock.sleep(lookEveryMs, signal).catch(() => undefined);
  }
  return null;
}
