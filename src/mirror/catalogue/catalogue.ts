import type { Instant } from '../../clock.ts';
import type { Writes } from '../../sqlite/statements.ts';
import type { ChangeTable } from '../changes/changes.ts';
import type { ClosureTable } from '../push/closures.ts';
import { AvailabilityTables } from './availability.ts';
import { type CategoryTable, categoryTable } from './categories.ts';
import { CheckoutInformationTable } from './checkout-information.ts';
import { Pricing } from './days.ts';
import { LanguageTable } from './editions.ts';
import { type ExperienceTables, experienceTables } from './experiences.ts';
import { type ImageFileTable, imageFileTable } from './image-file/files.ts';
import { type ImageLedger, imageLedger } from './image-ledger.ts';
import { ShownProducts } from './product-texts.ts';
import { ProductTables } from './products.ts';
import { RemovalTable } from './removals.ts';
import { type ListPlaceTable, listPlaceTable } from './search/list-places.ts';
import { searchTable } from './search.ts';
import { TagTables } from './tags.ts';
import { VariantTables } from './variants.ts';
import { type ZoneTable, zoneTable } from './zones.ts';

/** Tables of the products: the service's answers about them, and the rows that shops read. */
export interface CatalogueTables {
  readonly products: ProductTables;
  readonly images: ImageLedger;
  readonly availability: AvailabilityTables;
  readonly pricing: Pricing;
  readonly checkoutInformation: CheckoutInformationTable;
  readonly variants: VariantTables;
  readonly experiences: ExperienceTables;
  readonly tags: TagTables;
  readonly imageFiles: ImageFileTable;
  readonly removals: RemovalTable;
  readonly categories: CategoryTable;
  readonly languages: LanguageTable;
  readonly listPlaces: ListPlaceTable;
  /** Zones of products. */
  readonly zones: Pick<ZoneTable, 'own' | 'move' | 'inUse'>;
  /** Writes all zones again, for the years around now. */
  writeZones(now: Instant): void;
  /** Does so where the clocks or the rules of one were changed since. */
  renewZones(now: Instant): void;
}

export function catalogueTables(
  writes: Writes,
  { changes, closures }: { readonly changes: ChangeTable; readonly closures: ClosureTable },
): CatalogueTables {
  const pricing = new Pricing(writes, changes);
  const shown = new ShownProducts(writes);
  const search = searchTable(writes);
  const images = imageLedger(writes);
  const zones = zoneTable(writes);
  return {
    products: new ProductTables(writes, { changes, closures, shown, search, images, zones }),
    images,
    availability: new AvailabilityTables(writes, changes),
    pricing,
    checkoutInformation: new CheckoutInformationTable(writes, changes),
    variants: new VariantTables(writes, changes, pricing),
    experiences: experienceTables(writes, { search, changes }),
    tags: new TagTables(writes, changes),
    imageFiles: imageFileTable(writes),
    removals: new RemovalTable(writes, changes, search, images),
    categories: categoryTable(writes),
    languages: new LanguageTable(writes, shown, search),
    listPlaces: listPlaceTable(writes),
    writeZones: zones.write,
    renewZones: zones.renew,
    zones: { own: zones.own, move: zones.move, inUse: zones.inUse },
  };
}
