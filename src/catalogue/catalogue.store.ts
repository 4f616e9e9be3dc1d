import { AvailabilityTables } from '../dates/availability.store.ts';
import { Pricing } from '../dates/days.store.ts';
import { type ChangeTable, FeedingStore } from '../feed/changes.store.ts';
import type { Writes } from '../kernel/sqlite/statements.ts';
import type { ClosureTable } from '../push/closures.store.ts';
import { ListPlaceTable, SearchTable } from '../storefront/search/search.store.ts';
import { CategoryTable } from './categories.store.ts';
import { CheckoutInformationTable } from './checkout-information.store.ts';
import { LanguageTable } from './editions.store.ts';
import { ExperienceTables } from './experiences.store.ts';
import { ImageFileTable } from './image-files.store.ts';
import { ImageLedger } from './images.store.ts';
import { ShownProducts } from './product-texts.store.ts';
import { ProductTables } from './products.store.ts';
import { RemovalTable } from './removals.store.ts';
import { TagTables } from './tags.store.ts';
import { VariantTables } from './variants.store.ts';
import { ZoneTable } from './zones.store.ts';

/** Tables of the products: the service's answers about them, and the rows that shops read. */
export class CatalogueTables extends FeedingStore {
  readonly #shown = new ShownProducts(this.db);
  readonly #search = new SearchTable(this.db);
  readonly images = new ImageLedger(this.db);
  readonly zones = new ZoneTable(this.db);
  readonly availability = new AvailabilityTables(this.db, this.changes);
  readonly pricing = new Pricing(this.db, this.changes);
  readonly checkoutInformation = new CheckoutInformationTable(this.db, this.changes);
  readonly variants = new VariantTables(this.db, this.changes, this.pricing);
  readonly experiences = new ExperienceTables(this.db, this.changes, this.#search);
  readonly tags = new TagTables(this.db, this.changes);
  readonly imageFiles = new ImageFileTable(this.db);
  readonly removals = new RemovalTable(this.db, this.changes, this.#search, this.images);
  readonly categories = new CategoryTable(this.db);
  readonly languages = new LanguageTable(this.db, this.#shown, this.#search);
  readonly listPlaces = new ListPlaceTable(this.db);
  readonly products: ProductTables;

  constructor(db: Writes, changes: ChangeTable, closures: ClosureTable) {
    super(db, changes);
    const [shown, search, images, zones] = [this.#shown, this.#search, this.images, this.zones];
    this.products = new ProductTables(db, { changes, closures, shown, search, images, zones });
  }
}
