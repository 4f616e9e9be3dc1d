import { DeadlineExceeded } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { hasOwnReads } from '../schedule/deciding-reads.ts';
import { productKinds } from '../schedule/record.rules.ts';
import type { Sync } from '../schedule/sync.ts';
import type { Reading } from '../service/reading.ts';
import { storeProductDetail } from './product.ask.ts';
import type { ProductEntry } from './product.rules.ts';

/** Milliseconds to wait for the service about products that are not mirrored. Short, because a person waits. */
const patienceMs = 8000;

/** Runs a write for a waiting caller; throws the error to report if the files cannot be written (74, 75). */
interface Storing {
  /** Stores for a waiting caller. */
  readonly writer: { by<Result>(work: () => Result): Promise<Result> };
  readonly signal: AbortSignal;
}

/**
 * Requests products that are not mirrored or were withdrawn, and mirrors those that the service has, as if the list had
 * brought them. Returns these. If it lacks one or does not answer, the others are stored and an error names it (64, 69).
 */
export async function findProducts(
  sync: Sync,
  product_ids: readonly number[],
  { writer, signal }: Storing,
): Promise<number[]> {
  const { mirror, clock, policy } = sync;
  const unknown = [...new Set(product_ids)].filter((id) => !mirror.catalogue.products.isVisible(id));
  if (unknown.length === 0) return [];
  const excluded = unknown.filter((id) => policy.excluded.has(id));
  if (excluded.length > 0)
    throw notFound(excluded, 'excluded by the configuration', 'remove it from service.select.exclude_product_ids');
  if (!hasOwnReads(policy))
    throw notFound(
      unknown,
      'not in the mirror',
      'for a new product, read the list again: catalogued resync --products',
    );
  using patience = clock.deadline(patienceMs, signal);
  const readings = await Promise.all(unknown.map((id) => ask(sync, id, { writer, signal: patience.signal })));
  const missing = unknown.filter((_, index) => isMissing(readings[index]));
  if (missing.length > 0) throw notFound(missing, 'not in the mirror, and unknown to the service', 'check the id');
  const silent = readings.find((reading) => reading === null || reading.kind !== 'read');
  if (silent !== undefined) throw notAnswered(silent);
  return unknown;
}

async function ask(sync: Sync, product_id: number, { writer, signal }: Storing): Promise<Reading<ProductEntry> | null> {
  const { mirror, policy, upstream } = sync;
  const { languages, currencies } = policy.extent;
  const question = { product_id, language: languages[0], currency: currencies[0], known_hash: null, signal };
  let reading: Reading<ProductEntry>;
  try {
    reading = await upstream.in('notification').product(question);
  } catch (error) {
    if (error instanceof DeadlineExceeded) return null;
    throw error;
  }
  if (reading.kind !== 'read') return reading;
  const answer = reading;
  await writer.by(() =>
    mirror.transaction(() => {
      const details = productKinds(policy.extent).filter(({ resource }) => resource === 'product_detail');
      mirror.schedule.records.create(details, [product_id]);
      const record = mirror.schedule.records.find({
        resource: 'product_detail',
        product_id,
        edition: languages[0],
        part: 0,
      });
      if (record !== null) storeProductDetail(sync, { ...record, due_reason: 'requested' }, answer);
    }),
  );
  return reading;
}

function isMissing(reading: Reading<ProductEntry> | null | undefined): boolean {
  return reading?.kind === 'refused' && (reading.status === 404 || reading.status === 410);
}

function notFound(product_ids: readonly number[], why: string, hint: string): CataloguedError {
  return new CataloguedError('unknown-product', `${why}: product ${product_ids.join(', ')}`, {
    exitCode: exitCodes.usage,
    hint,
  });
}

function notAnswered(reading: Reading<ProductEntry> | null): CataloguedError {
  const message = reading !== null && 'message' in reading ? reading.message : 'no answer in time';
  return new CataloguedError('not-answered', `the service did not answer about the product: ${message}`, {
    exitCode: exitCodes.unavailable,
    hint: 'run the same command again, or check the service with: catalogued doctor',
  });
}
