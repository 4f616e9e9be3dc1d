<?php
// The pages. Everything that came from the service or a shopper goes through e().

function e(mixed $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

/** Minor units as people write them; a currency without cents needs another line. */
function money(?int $minor): string
{
    return $minor === null ? '' : sprintf('%d.%02d %s', intdiv($minor, 100), $minor % 100, CURRENCY);
}

function page(string $title, string $body, int $status = 200): void
{
    http_response_code($status);
    header("Content-Security-Policy: default-src 'none'; img-src http: https:; style-src 'self'; form-action 'self'");
    echo '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>', e($title),
        '</title><link rel="stylesheet" href="/shop.css"><header><a href="/">Tickets</a></header><main>', $body, "</main>\n";
}

function hidden(array $fields): string
{
    $inputs = array_map(fn ($name, $value) => '<input type="hidden" name="' . e($name) . '" value="' . e($value) . '">', array_keys($fields), $fields);
    return implode('', $inputs);
}

function search_page(array $ask, array $hits): void
{
    $field = fn (string $name, string $label, string $type, string $hint = '') => '<label>' . $label . '<input type="' . $type
        . '" name="' . $name . '" value="' . e($ask[$name] ?? '') . '" placeholder="' . $hint . '"></label>';
    $form = '<form class="search">' . $field('text', 'What', 'search', 'museum par') . $field('near', 'Near (latitude, longitude)', 'text', '48.86, 2.35')
        . $field('km', 'Within km', 'number', '5') . $field('date', 'On', 'date') . $field('most', 'At most, ' . CURRENCY, 'text', '30')
        . '<button>Search</button></form>';
    $line = function (array $hit) use ($ask): string {
        $show = policy('product_prices', $hit['freshness']) !== 'hide' && $hit['sellable'] && $hit['price'] !== null;
        $price = $show ? 'from ' . money($hit['price']) : ($hit['sellable'] ? 'see dates' : 'closed now');
        $where = e($hit['city_name']) . ($hit['km'] === null ? '' : sprintf(', %.1f km', $hit['km']));
        $query = empty($ask['date']) ? '' : '?date=' . rawurlencode($ask['date']);
        return "<li><span><a href=\"/product/{$hit['product_id']}" . e($query) . '">' . e($hit['title']) . "</a><br><span class=\"quiet\">$where</span></span><b>$price</b></li>";
    };
    page('Search', "<h1>Find tickets</h1>$form" . ($hits ? '<ul class="hits">' . implode('', array_map($line, $hits)) . '</ul>' : '<p>Nothing found.</p>'));
}

/** An image is shown with its credit, as long as the view has it. */
function gallery(array $images): string
{
    $figure = fn (array $image) => '<figure><img src="' . e($image['large_url']) . '" alt="' . e($image['alt_text']) . '" loading="lazy">'
        . ($image['credit'] === null ? '' : '<figcaption>' . e($image['credit']) . '</figcaption>') . '</figure>';
    return $images ? '<div class="gallery">' . implode('', array_map($figure, $images)) . '</div>' : '';
}

/** What a calendar says of a date: class and words. A date without a row, or too old to be believed, is unknown. */
function date_cell(?array $day): array
{
    $availability = policy('availability', $day['freshness'] ?? null);
    if ($day === null || ($availability === 'hide' && $day['state'] !== 'not_on_sale')) {
        return ['unknown', 'not known'];
    }
    if ($day['state'] !== 'available') {
        return [$day['state'], $day['state'] === 'sold_out' ? 'sold out' : 'not on sale'];
    }
    $price = ['hide' => '', 'show_as_from' => 'from '][policy('day_prices', $day['freshness'])] ?? null;
    $words = $price === '' ? 'available' : $price . money($day['lowest_price']);
    return $availability === 'show' ? ['available', $words] : ['stale', "$words, to be checked"];
}

function calendar_table(int $id, string $month, string $today, ?string $chosen, array $days): string
{
    $first = new DateTimeImmutable("$month-01");
    $cells = array_fill(0, (int) $first->format('N') - 1, '<td></td>');
    for ($at = $first; $at->format('Y-m') === $month; $at = $at->modify('+1 day')) {
        $date = $at->format('Y-m-d');
        [$class, $words] = $date < $today ? ['past', ''] : date_cell($days[$date] ?? null);
        $text = '<b>' . $at->format('j') . '</b>' . e($words);
        $link = in_array($class, ['available', 'stale']) ? "<a href=\"?date=$date#slots\">$text</a>" : $text;
        $cells[] = "<td data-date=\"$date\" class=\"$class" . ($date === $chosen ? ' chosen' : '') . "\">$link</td>";
    }
    $weeks = array_map(fn (array $week) => '<tr>' . implode('', $week) . '</tr>', array_chunk([...$cells, ...array_fill(0, (7 - count($cells) % 7) % 7, '<td></td>')], 7));
    [$before, $after] = [$first->modify('-1 month')->format('Y-m'), $first->modify('+1 month')->format('Y-m')];
    return "<h2><a href=\"?month=$before\">‹</a> " . $first->format('F Y') . " <a href=\"?month=$after\">›</a></h2><table class=\"calendar\"><tr><th>Mo<th>Tu<th>We<th>Th<th>Fr<th>Sa<th>Su</tr>"
        . implode('', $weeks) . '</table><p class="legend quiet"><span class="available">available</span><span class="stale">to be checked</span>'
        . '<span class="sold_out">sold out</span><span class="not_on_sale">not on sale</span><span class="unknown">not known</span></p>';
}

function slots_table(int $id, string $date, array $slots): string
{
    $row = function (array $slot) use ($id, $date): string {
        $fields = ['product' => $id, 'date' => $date, 'time' => $slot['time'], 'variant' => $slot['variant_id'], 'price' => $slot['retail_price']];
        $counts = implode('', array_map(fn (int $count) => "<option>$count</option>", range(1, max(1, $slot['most']))));
        return '<tr><td>' . e(str_replace('_', ' ', $slot['time'])) . '<td>' . e($slot['label']) . '<td>' . money($slot['retail_price'])
            . '<td><form method="post" action="/checkout">' . hidden($fields) . "<select name=\"count\">$counts</select> <button>Book</button></form></tr>";
    };
    return '<h2 id="slots">' . e($date) . '</h2>' . ($slots ? '<table><tr><th>Time<th>Ticket<th>Price<th></tr>' . implode('', array_map($row, $slots)) . '</table>'
        : '<p>No tickets are known for this date.</p>');
}

/** Products, dates or times, each as [product, date or null, words, price or null]. */
function instead_list(array $others): string
{
    $line = fn (array $other) => "<li><a href=\"/product/{$other[0]}" . ($other[1] === null ? '' : e("?date=$other[1]#slots")) . '">' . e($other[2])
        . '</a><b>' . money($other[3]) . '</b></li>';
    return $others ? '<h2>Instead</h2><ul class="hits instead">' . implode('', array_map($line, $others)) . '</ul>' : '';
}

function product_page(array $product, array $images, ?array $info, string $calendar, string $slots, string $instead): void
{
    $closed = 'This is not on sale now' . ($product['disabled_reason'] ? ': ' . e(str_replace('_', ' ', $product['disabled_reason'])) : '')
        . ($product['expected_reopening'] ? ', expected back ' . e(str_replace('_', ' ', $product['expected_reopening'])) : '') . '.';
    $priced = $product['sellable'] && $product['from_price'] !== null && policy('product_prices', $product['freshness']) !== 'hide';
    page($product['title'], '<h1>' . e($product['title']) . '</h1><p class="quiet">' . e($product['city_name']) . '</p>' . gallery($images)
        . '<p>' . e($product['tagline']) . '</p>' . ($product['sellable'] ? '' : "<p class=\"notice closed\">$closed</p>$instead")
        . ($priced ? '<p class="price">from ' . money($product['from_price']) . '</p>' : '')
        . ($info && $info['must_know'] ? '<p class="notice">' . e($info['must_know']) . '</p>' : '') . $calendar . $slots);
}

/** What the check says, in words and with what can be done: confirm, accept the new price, choose again, ask again. */
function verdict_page(array $wish, array $answer, string $instead): void
{
    $what = e("{$wish['count']} × {$wish['date']}, " . str_replace('_', ' ', $wish['time']));
    $form = fn (string $action, string $button, array $fields) => "<form method=\"post\" action=\"$action\">" . hidden($fields) . "<button>$button</button></form>";
    $notice = fn (string $text, string $class = '') => "<p class=\"notice$class\">$text</p>";
    [$shown, $now] = [$wish['count'] * $wish['price'], $answer['now']['price']['amount'] ?? null];
    $body = match (true) {
        $answer['verdict'] === 'holds' => $notice('Still available at this price.', ' good') . '<p class="price">' . money($shown) . '</p>' . $form('/order', 'Confirm the order', $wish),
        $answer['verdict'] === 'changed' && $now !== null => $notice('The price has changed: it is ' . money($now) . ' now, not ' . money($shown) . '.')
            . $form('/checkout', 'Take it for ' . money($now), array_replace($wish, ['price' => intdiv($now, $wish['count'])])),
        $answer['verdict'] === 'changed' => $notice('There are not as many tickets left as you want.') . $instead,
        $answer['verdict'] === 'gone' => $notice('This is not to be had any more.') . $instead,
        default => $notice('We cannot tell at the moment whether this is still available. Nothing was ordered.') . $form('/checkout', 'Ask again', $wish),
    };
    page('Checkout', '<h1>Checkout</h1><p data-verdict="' . e($answer['verdict']) . "\">$what</p>$body<p><a href=\"/product/{$wish['product']}?date={$wish['date']}\">Back to the dates</a></p>");
}
