import { flag, id, instant, json, text, words } from './table.ts';

/* Columns that stand in more than one table. */

export const productId = id({}, 'The product.');
export const language = text({}, 'The language of the row, one of those that are mirrored, in lower case.');
export const languageShown = text(
  { byClock: true },
  'The language of the texts: the primary one where the service has none in the language of the row.',
);
export const currency = text({}, 'ISO 4217, upper case.');
export const primaryCurrency = text({ byClock: true }, 'The primary currency, ISO 4217, upper case.');
export const document = json({}, 'What the service sent, with members that no column shows.');

export const checkedAt = instant({ byClock: true }, 'When the newest read of it was sent.');
export const changedAt = instant({}, 'When a read last differed.');

/** Columns with the age of a row, and the key for `policies`. */
export const age = {
  stale: flag({ byClock: true }, 'Past its cadence, or held.'),
  expired_at: instant({ byClock: true }, 'Four cadences after checked_at; policies say what a storefront does then.'),
  freshness: words(['fresh', 'stale', 'expired'], { byClock: true }, 'How old it is now; policies say what to do.'),
};
