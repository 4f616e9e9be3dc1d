import { inRange } from './arguments.ts';

/** A place and how far around it, in kilometres. */
export interface Near {
  readonly latitude: number;
  readonly longitude: number;
  readonly km: number;
}

/** Bounds of a search near a place: boxes for the R*Tree, the place on a globe of radius 1, the chord of the distance. */
export interface Around {
  readonly south: number;
  readonly north: number;
  readonly west: number;
  readonly east: number;
  /** The part of the box beyond the antimeridian; there is none where it begins after it ends. */
  readonly west_beyond: number;
  readonly east_beyond: number;
  readonly x: number;
  readonly y: number;
  readonly z: number;
  /** The square of the straight line between two places that far apart. */
  readonly chord2: number;
}

/** The mean radius of the earth. */
const earthKm = 6371.0088;
const radians = Math.PI / 180;
/** Half the circumference, and a little: everywhere. */
const everywhereKm = 20_038;

export function around({ latitude, longitude, km }: Near): Around {
  inRange('near.latitude', latitude, -90, 90);
  inRange('near.longitude', longitude, -180, 180);
  inRange('near.km', km, 0, everywhereKm);
  const angle = Math.min(km / earthKm, Math.PI);
  const high = angle / radians + 1e-9;
  const wide = halfWidth(latitude, angle);
  const [west, east] = wide >= 180 ? [-180, 180] : [longitude - wide, longitude + wide];
  return {
    south: latitude - high,
    north: latitude + high,
    west: Math.max(west, -180),
    east: Math.min(east, 180),
    west_beyond: west < -180 ? west + 360 : -180,
    east_beyond: west < -180 ? 180 : east > 180 ? east - 360 : -181,
    x: Math.cos(latitude * radians) * Math.cos(longitude * radians),
    y: Math.cos(latitude * radians) * Math.sin(longitude * radians),
    z: Math.sin(latitude * radians),
    chord2: (2 * Math.sin(angle / 2)) ** 2 + 1e-18,
  };
}

/**
 * Returns how many degrees of longitude the circle reaches to either side; one that holds a pole reaches all around.
 */
function halfWidth(latitude: number, angle: number): number {
  if (Math.abs(latitude) * radians + angle >= Math.PI / 2) return 180;
  return Math.asin(Math.sin(angle) / Math.cos(latitude * radians)) / radians + 1e-9;
}

/**
 * Returns the distance along the ground, in kilometres, of two places whose straight line on the globe of radius 1 has
 * this square.
 */
export function kilometres(chord2: number): number {
  return 2 * earthKm * Math.asin(Math.min(Math.sqrt(chord2) / 2, 1));
}
