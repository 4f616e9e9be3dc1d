import type { Sync } from '../../src/schedule/sync.ts';

/** Returns products with the records of their first dates. */
export function plannedDates({ mirror: { catalogue, schedule } }: Sync) {
  return catalogue.products.ids().flatMap((product_id) => {
    const record = schedule.records.find({ resource: 'availability', edition: 'EUR', part: 0, product_id });
    const product = catalogue.products.find(product_id);
    const { venue } = schedule.siblings.groupsOf(product_id);
    return record === null || product === null ? [] : [{ record, product, venue }];
  });
}
