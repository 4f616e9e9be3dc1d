const listed = (text: string) => text.trim().split(/,\s+/);

/** What must happen in a night of seeds: what never does was never asked. */
const wanted = [
  ...listed(`
  killed looking at the clock, killed beginning a transaction, killed before a commit, killed after a commit,
  killed before a delivery is stored, killed after a delivery is stored, killed in the first fill,
  killed while the address was rotated, the address was rotated, restarted in order, took another configuration,
  the mirror was lost and filled anew, a question was refused while the files could not be written,
  a hold was approved, a hold was rejected, everything was asked for anew,
  products were asked for anew, a follower caught up, image files were shown, a check said holds, a check said gone,
  a check said unknown, a check said refused: unknown-product, an order was confirmed, an order was failed,
  an order was told twice`),
  ...listed(`
  product_added, product_changed, product_withdrawn, product_returned, sale_disabled, sale_enabled, price_changed,
  date_sold_out, date_back, image_added, image_credit_changed, image_withdrawn, checkout_changed, variants_changed,
  dates_withheld`).map((kind) => `feed: ${kind}`),
  ...listed(`
  held, service-unreachable, freshness-missed, disk-full, disk-low, file-locked, clock-doubted, other-dates,
  subscription-broken, receiver-unreachable, changes-not-shown, often-wrong, records-failing`).map(
    (code) => `condition: ${code}`,
  ),
];

/** Returns what was not seen. */
export function neverSeen(sometimes: ReadonlyMap<string, number>): string[] {
  return wanted.filter((what) => !sometimes.has(what));
}
