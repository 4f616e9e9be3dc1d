import type { Planted } from './planted.ts';
import { ask, fault, minute, type PlantedWorld, plantedWorld } from './planted-world.ts';

async function readAgain(): Promise<PlantedWorld> {
  const world = await plantedWorld();
  ask(world);
  await world.live(20 * minute);
  return world;
}

/** A resync reads all again, so that it is not the cadence that is measured. */
function withoutMember(member: string): Planted['plant'] {
  return (world) => {
    const mend = fault(world, { kind: 'without', member });
    ask(world);
    return () => {
      mend();
      ask(world);
    };
  };
}

const gone = {
  code: 'fields-gone',
  within_ms: 20 * minute,
  mended_ms: 20 * minute,
  step_ms: minute,
} as const;

/** Members that the service stops sending. */
export const plantedFields: readonly Planted[] = [
  { ...gone, failure: 'the sale status is gone from the answers', plant: withoutMember('sale_status') },
  {
    ...gone,
    failure: 'the prices of dates are gone from the answers',
    plant: withoutMember('total_retail_price_incl_vat'),
  },
  {
    ...gone,
    failure: 'images are gone from the answers',
    // Since the fill, the products' own reads are what confirms them.
    world: readAgain,
    plant: withoutMember('images'),
  },
];
