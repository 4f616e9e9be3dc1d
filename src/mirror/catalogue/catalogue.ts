import type { Instant } from '../../clock.ts';
import type { Writes } from '../../sqlite/statements.ts';
import type { ChangeTable } from '../changes/changes.ts';
import type { ClosureTable } from '../push/closures.ts';
import { type AvailabilityTables, availabilityTables } from './availability.ts';
import { CategoryTable } from './categories.ts';
import { type CheckoutInformationTable, checkoutInformationTable } from './checkout-information.ts';
import { type Pricing, pricingOf } from './dates/pricing.ts';
import { ExperienceTables } from './experiences.ts';
import { ImageFileTable } from './image-files.ts';
import { ImageLedger } from './images.ts';
import { type LanguageTable, languageTable } from './languages.ts';
import { shownProducts } from './product/shown.ts';
import { type ProductTables, productTables } from './products.ts';
import { type RemovalTable, removalTable } from './removals.ts';
import { ListPlaceTable, SearchTable } from './search.ts';
import { TagTables } from './tags.ts';
import { type VariantTables, variantTables } from './variants.ts';
import { ZoneTable } from './zones.ts';

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
  const pricing = pricingOf(writes, changes);
  const shown = shownProducts(writes);
  const search = new SearchTable(writes);
  const images = new ImageLedger(writes);
  const zones = new ZoneTable(writes);
  return {
    products: productTables(writes, { changes, closures, shown, search, images, zones }),
    images,
    availability: availabilityTables(writes, changes),
    pricing,
    checkoutInformation: checkoutInformationTable(writes, changes),
    variants: variantTables(writes, changes, pricing),
    experiences: new ExperienceTables(writes, changes, search),
    tags: new TagTables(writes, changes),
    imageFiles: new ImageFileTable(writes),
    removals: removalTable(writes, { changes, search, images }),
    categories: new CategoryTable(writes),
    languages: languageTable(writes, shown, search),
    listPlaces: new ListPlaceTable(writes),
    writeZones: (now) => zones.write(now),
    renewZones: (now) => zones.renew(now),
    zones,
  };
}
