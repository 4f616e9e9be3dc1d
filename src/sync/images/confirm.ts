import { imageAlarmAfterMs, imagePressAfterMs } from '../../domain/catalogue/image.ts';
import { productKinds, walkKinds } from '../../domain/schedule/record-kinds.ts';
import type { Ports } from '../records/context.ts';
import { areVanished } from './vanished.ts';

type ConfirmPorts = Pick<Ports, 'mirror' | 'clock' | 'policy' | 'log'>;

const dayMs = 86_400_000;
/** As many at a time as one pass of a minute can read. */
const imagesAtATime = 500;

/** Images that come near their limit: from the tenth day on, a product's own read confirms them ahead of the sweeps. */
export function pressImages({ mirror, clock, policy, log }: ConfirmPorts): void {
  const now = clock.now();
  const late = mirror.products.imagesVerifiedBefore(now - imagePressAfterMs, imagesAtATime);
  if (late.length === 0) return;
  const [language] = policy.extent.languages;
  const details = productKinds(policy.extent).filter(
    ({ resource, edition }) => resource === 'product_detail' && edition === language,
  );
  const { primary } = walkKinds(policy.extent);
  // Without a read of its own a product's images come with the list, which is not walked twice for those it lacks; while
  // images have vanished from everything, a read of its own would bring none either.
  const walked = mirror.records.find({ ...primary, product_id: 0 })?.fetched_at ?? 0;
  const byList = now - walked > dayMs ? { kinds: [primary], product_ids: [0] } : { kinds: [], product_ids: [] };
  const selection = details.length > 0 && !areVanished({ mirror }) ? { kinds: details, product_ids: late } : byList;
  const brought = mirror.transaction(() => mirror.records.bringForward(selection, now, 'image-limit'));
  if (brought > 0) log.warn({ products: brought }, 'images not confirmed for ten days: read ahead of the sweeps');
}

/** The alarm of the twelfth day: it lasts until each of these images is confirmed or withdrawn. */
export function watchImages({ mirror, clock, log }: Omit<ConfirmPorts, 'policy'>): void {
  const now = clock.now();
  const products = mirror.images.unconfirmed(now - imageAlarmAfterMs).length;
  const kind = 'images-unverified';
  const known = mirror.alarms.all().some((alarm) => alarm.kind === kind);
  if (products === 0) {
    if (!known) return;
    mirror.transaction(() => mirror.alarms.calm(kind));
    log.info({}, 'every image is confirmed or withdrawn again');
    return;
  }
  mirror.transaction(() => mirror.alarms.raise({ kind, at: now, products }));
  if (!known) log.error({ products }, 'images not confirmed for twelve days: hidden after fourteen');
}
