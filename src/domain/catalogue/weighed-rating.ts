/** Ratings that every product is taken to have beside its own, and their stars. */
const prior = { people: 10, stars: 4 };

/**
 * Returns thousandths of a star: a rating by two people says less than one by two thousand. A rating without a number of people
 * counts as one by ten.
 */
export function weighedRating(rating: number | null, rating_count: number | null): number {
  const people = rating === null ? 0 : (rating_count ?? 10);
  const stars = Math.min(Math.max(rating ?? prior.stars, 0), 5);
  return Math.round((1000 * (prior.people * prior.stars + stars * people)) / (prior.people + people));
}
