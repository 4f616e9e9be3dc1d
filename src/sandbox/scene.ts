import type { Clock } from '../clock.ts';
import { createRecording, type RecordedAnswer } from './reads/recording.ts';
import type { RouteOptions } from './reads/routes.ts';
import type { Quirks } from './rough/quirks.ts';
import { type Roughness, roughness } from './rough/roughness.ts';
import {
  type CatalogueEntry,
  catalogueFrom,
  generateCatalogue,
  leaner,
  type SandboxProduct,
} from './world/catalogue.ts';
import { type ChangeRates, calendarChanges } from './world/changes.ts';
import type { Announce } from './world/mutations.ts';
import { createWorld, type World } from './world/world.ts';

export interface SceneOptions {
  readonly clock: Clock;
  readonly seed: number;
  /** The number of generated products, if there is no catalogue. */
  readonly products: number;
  readonly catalogue?: readonly CatalogueEntry[];
  /**
   * Answers stored by `catalogued probe --record`: their products are the catalogue, and the answers are served again.
   */
  readonly recorded?: readonly RecordedAnswer[];
  /**
   * The origin in the addresses of images, like `http://127.0.0.1:9001`: the `url` of an image host. Default: a host
   * that does not exist.
   */
  readonly image_origin?: string | null;
  /** The fault profile. Missing quirks have their ideal value. */
  readonly quirks?: Partial<Quirks>;
  /** True: days fill up as they approach. False: a date stays the same, whenever it is read. */
  readonly live?: boolean;
  /** The rates at which near dates change, one per product (changes.ts). Absent: no changes. */
  readonly changes?: ChangeRates;
  /**
   * True: small bodies without compression: few dates with tickets, one slot, one variant, one image. For months of
   * simulated time.
   */
  readonly lean?: boolean;
}

/** The initial state: the world, and the fault profile of its service. */
export interface Scene {
  readonly products: readonly SandboxProduct[];
  readonly recording: RouteOptions['recording'];
  readonly rough: Roughness;
  /** The world for code that changes it: earlier states of its products are kept for the caches. */
  readonly outward: World;
  /** The same world for code that only reads it. It includes functions that a test has replaced. */
  readonly world: World;
}

/** Builds the scene. `announce`: called for each change that a subscription may announce. */
export function sceneOf(options: SceneOptions, announce: Announce): Scene {
  const { clock, seed, live = false, lean = false } = options;
  const recording = options.recorded === undefined ? null : createRecording(options.recorded, clock);
  const products = productsOf(options, recording?.entries ?? options.catalogue);
  const changes = options.changes === undefined ? null : calendarChanges(seed, clock, options.changes);
  const rough = roughness(options.quirks ?? {}, { seed, clock, products });
  const made = createWorld(products, clock, { seed, live, lean, changes, past: rough.past, announce });
  return { products, recording, rough, ...watchedBy(rough, made) };
}

function productsOf(
  { seed, products, lean, image_origin }: SceneOptions,
  entries: readonly CatalogueEntry[] | undefined,
): readonly SandboxProduct[] {
  const catalogue = entries === undefined ? generateCatalogue(seed, products) : catalogueFrom(seed, entries);
  const found = lean ? catalogue.map(leaner) : catalogue;
  if (image_origin != null) for (const product of found) product.image_origin = image_origin;
  return found;
}

function watchedBy({ past }: Roughness, made: World) {
  const watched = {
    find: (id: number) => {
      const product = made.find(id);
      return product === null ? null : past.watched(product);
    },
    visible: () => made.visible().map(past.watched),
  };
  const outward: World = { ...made, ...watched };
  const world = Object.create(outward, {
    find: { get: () => (outward.find === watched.find ? made.find : outward.find) },
    visible: { get: () => (outward.visible === watched.visible ? made.visible : outward.visible) },
  }) as World;
  return { outward, world };
}
