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
  /** How many products are generated, where there is no catalogue. */
  readonly products: number;
  readonly catalogue?: readonly CatalogueEntry[];
  /** What `catalogued probe --record` kept: its products are the catalogue, its answers are served again. */
  readonly recorded?: readonly RecordedAnswer[];
  /** Where images are said to be, like `http://127.0.0.1:9001`: the `url` of an image host. Else at a host that does not exist. */
  readonly image_origin?: string | null;
  /** How rough it is: whatever is not given is kind. */
  readonly quirks?: Partial<Quirks>;
  /** Whether days fill as they near; else a date is what it is, whenever it is asked for. */
  readonly live?: boolean;
  /** How often near dates change: each product at a rate of its own (changes.ts); none where it is not given. */
  readonly changes?: ChangeRates;
  /** Small bodies, not compressed: few dates with tickets, one slot, one variant, one image. For months of simulated time. */
  readonly lean?: boolean;
}

/** What there is before anybody asks: the world, and how rough its service is. */
export interface Scene {
  readonly products: readonly SandboxProduct[];
  readonly recording: RouteOptions['recording'];
  readonly rough: Roughness;
  /** The world of those who change it: what they set in a product is seen by the caches. */
  readonly outward: World;
  /** The same for those who only read, and what somebody puts in the place of a part of it. */
  readonly world: World;
}

/** `announce`: told of each change that a subscription may be of. */
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

function watchedBy({ past }: Roughness, made: World): Pick<Scene, 'outward' | 'world'> {
  const watched: Pick<World, 'find' | 'visible'> = {
    find: (id) => {
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
