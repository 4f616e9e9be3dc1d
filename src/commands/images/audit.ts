import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { imageLimitMs } from '../../catalogue/image.rules.ts';
import {
  type Breach,
  breachesOf,
  type CreditChange,
  hiddenAt,
  type PublishedImage,
  shownAfterChange,
  type Takedown,
  takedownsForMs,
} from '../../catalogue/image-audit.rules.ts';
import { type ImageFacts, readImageFacts } from '../../catalogue/image-audit.store.ts';
import type { Config } from '../../config/load.ts';
import { instant, systemClock } from '../../kernel/clock.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';

/**
 * A dated statement of which images are published, and by which rule. The fields are a contract; instants are epoch
 * milliseconds.
 */
export interface ImageAudit {
  readonly at: number;
  readonly service: string;
  readonly mirror: string;
  readonly written_by: string;
  readonly filled_at: number | null;
  readonly rule: string;
  readonly summary: {
    readonly published: number;
    readonly products: number;
    readonly credited: number;
    /** Null: nothing is published. */
    readonly oldest_confirmation_at: number | null;
    readonly hidden: number;
    readonly takedowns: number;
    /** The longest that an image may have been shown after the service withdrew it; null: nothing was taken down. */
    readonly longest_takedown_ms: number | null;
    readonly credit_changes: number;
    readonly in_breach: number;
  };
  readonly published: readonly PublishedImage[];
  /** `at_most_ms`: how long it may have been shown after the service withdrew it; the change lies between the two reads. */
  readonly takedowns: readonly (Takedown & { readonly hidden_at: number; readonly at_most_ms: number | null })[];
  readonly credit_changes: readonly CreditChange[];
  readonly breaches: readonly Breach[];
}

const rule = `An image is published only while it stands in the last complete read of its product, and for less than ${imageLimitMs / 86_400_000} days after that read; its credit is the one that read returned.`;

/** Audits the mirror's file, and checks which image files are still on disk. Needs no daemon. */
export function auditImages(config: Config): ImageAudit {
  const db = openMirrorForReading(config.mirror.path);
  // Read first: an image that expires during the audit is no longer shown, and no breach.
  const now = systemClock.now();
  let facts: ImageFacts;
  try {
    facts = readImageFacts(db, instant(now - takedownsForMs));
  } finally {
    db.close();
  }
  const onDisk = facts.files.filter(({ file: name }) => existsSync(join(config.images.directory, name)));
  const breaches = breachesOf(facts.published, onDisk, now);
  const { published, credit_changes, hidden, written_by, filled_at } = facts;
  const takedowns = facts.takedowns.map((takedown) => ({
    ...takedown,
    hidden_at: hiddenAt(takedown),
    at_most_ms: shownAfterChange(takedown),
  }));
  const longest = takedowns.flatMap(({ at_most_ms }) => at_most_ms ?? []);
  return {
    at: now,
    service: config.service.base_url,
    mirror: resolve(config.mirror.path),
    written_by,
    filled_at,
    rule,
    summary: {
      published: published.length,
      products: new Set(published.map(({ product_id }) => product_id)).size,
      credited: published.filter(({ credit }) => credit !== null).length,
      oldest_confirmation_at: least(published.map(({ last_confirmed_at }) => last_confirmed_at)),
      hidden,
      takedowns: takedowns.length,
      longest_takedown_ms: longest.length === 0 ? null : longest.reduce((a, b) => Math.max(a, b)),
      credit_changes: credit_changes.length,
      in_breach: breaches.length,
    },
    published: published.map(({ verified_at: _, withdrawn: __, ...image }) => image),
    takedowns,
    credit_changes,
    breaches,
  };
}

function least(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((a, b) => Math.min(a, b));
}
