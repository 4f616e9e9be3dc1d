<?php
// The pages. Everything that came from the service or a visitor goes through e().

/** The search form: label, type and example of each field. */
const FIELDS = [
    'text' => ['What', 'search', 'museum par'],
    'near' => ['Near (latitude, longitude)', 'text', '48.86, 2.35'],
    'km' => ['Within (km)', 'text', '5'],
    'date' => ['On', 'date', ''],
    'most' => ['At most (' . CURRENCY . ')', 'text', '30'],
];

function e(mixed $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

/** Minor units as people write them. */
function money(?int $minor): string
{
    $digits = str_pad((string) $minor, decimals() + 1, '0', STR_PAD_LEFT);
    $point = decimals() === 0 ? '' : '.' . substr($digits, -decimals());
    return $minor === null ? '' : substr($digits, 0, strlen($digits) - decimals()) . $point . ' ' . CURRENCY;
}

/** The price that is printed of a product or a date; where it is not an adult's, whose it is. */
function price(array $row): string
{
    return money($row['price']) . (in_array($row['price_of'], ['adult', null], true) ? '' : ' (' . spoken($row['price_of']) . ')');
}

/** What a product costs at least, while it is for sale and its price may be shown. */
function from_price(array $product): string
{
    $shown = $product['sellable'] && $product['price'] !== null && policy('product_prices', $product['freshness']) !== 'hide';
    return $shown ? 'from ' . price($product) : '';
}

function spoken(?string $text): string
{
    return str_replace(['within_month', 'more_than_month', '_'], ['within a month', 'in more than a month', ' '], $text ?? '');
}

function day(string $date): string
{
    return (new DateTimeImmutable($date))->format('l j F Y');
}

function page(string $title, string $body): string
{
    return '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>' . e($title)
        . '</title><link rel="stylesheet" href="/shop.css"><header><a href="/">Tickets</a></header><main>' . $body . "</main>\n";
}

/** Each item as HTML, one after the other. */
function joined(array $items, callable $html): string
{
    return implode('', array_map($html, $items));
}

/** `$text` is escaped already. */
function notice(string $text, string $class = 'notice'): string
{
    return "<p class=\"$class\">$text</p>";
}

function form(string $action, array $fields, string $controls): string
{
    $inputs = joined(array_keys($fields), fn (string $name) => "<input type=\"hidden\" name=\"$name\" value=\"" . e($fields[$name]) . '">');
    return "<form method=\"post\" action=\"$action\">$inputs$controls</form>";
}

function search_page(array $ask, array $filters, array $hits): string
{
    $unread = array_filter(array_keys(FIELDS), fn (string $name) => isset($ask[$name]) && $filters[$name] === null);
    $lines = joined($hits, fn (array $hit) => hit_line($hit, $filters['date']));
    return page('Search', '<h1>Find tickets</h1>' . search_form($ask, $unread)
        . ($hits ? "<ul class=\"hits\">$lines</ul>" : '<p>Nothing found.</p>'));
}

/** What was not understood is said, and shown again. */
function search_form(array $ask, array $unread): string
{
    $fields = '';
    foreach (FIELDS as $name => [$label, $type, $hint]) {
        // A browser would leave a date field empty where the value is no date.
        [$type, $mark] = in_array($name, $unread, true) ? ['text', ' aria-invalid="true"'] : [$type, ''];
        $fields .= "<label>$label<input type=\"$type\" name=\"$name\" value=\"" . e($ask[$name] ?? '') . "\" placeholder=\"$hint\"$mark></label>";
    }
    $wrong = implode(', ', array_map(fn (string $name) => FIELDS[$name][0] . ' “' . e($ask[$name]) . '”', $unread));
    return "<form class=\"search\">$fields<button>Search</button></form>" . ($wrong ? notice("Not understood, and left out of the search: $wrong") : '');
}

function hit_line(array $hit, ?string $date): string
{
    $price = e(from_price($hit)) ?: ($hit['sellable'] ? 'see dates' : 'closed now');
    $where = e($hit['city_name']) . ($hit['km'] === null ? '' : sprintf(', %.1f km', $hit['km']));
    return "<li><span><a href=\"/product/{$hit['product_id']}" . ($date === null ? '' : "?date=$date") . '">' . e($hit['title'])
        . "</a><br><span class=\"quiet\">$where</span></span><b>$price</b></li>";
}

/** An image is shown with its credit, as long as the view has it. */
function gallery(array $images): string
{
    $figure = fn (array $image) => '<figure><img src="' . e($image['large_url']) . '" alt="' . e($image['alt_text']) . '" loading="lazy">'
        . ($image['credit'] === null ? '' : '<figcaption>' . e($image['credit']) . '</figcaption>') . '</figure>';
    return $images ? '<div class="gallery">' . joined($images, $figure) . '</div>' : '';
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
    $words = match ($day['price'] === null ? 'hide' : policy('day_prices', $day['freshness'])) {
        'hide' => 'available',
        'show_as_from' => 'from ' . price($day),
        default => price($day),
    };
    return $availability === 'show' ? ['available', $words] : ['stale', "$words, to be checked"];
}

function calendar_table(string $month, string $today, ?string $chosen, array $days): string
{
    $cell = function (DateTimeImmutable $at) use ($month, $today, $chosen, $days): string {
        if ($at->format('Y-m') !== $month) {
            return '<td></td>';
        }
        $date = $at->format('Y-m-d');
        [$class, $words] = $date < $today ? ['past', ''] : date_cell($days[$date] ?? null);
        $text = '<b>' . $at->format('j') . '</b>' . e($words);
        $link = in_array($class, ['available', 'stale']) ? "<a href=\"?date=$date#slots\">$text</a>" : $text;
        return "<td data-date=\"$date\" class=\"$class" . ($date === $chosen ? ' chosen' : '') . "\">$link</td>";
    };
    $first = new DateTimeImmutable("$month-01");
    [$before, $after] = [$first->modify('-1 month'), $first->modify('+1 month')];
    $rows = '';
    for ($monday = $first->modify('monday this week'); $monday < $after; $monday = $monday->modify('+1 week')) {
        $rows .= '<tr>' . joined(range(0, 6), fn (int $days) => $cell($monday->modify("+$days days"))) . '</tr>';
    }
    return "<h2><a href=\"?month={$before->format('Y-m')}\">‹</a> {$first->format('F Y')} <a href=\"?month={$after->format('Y-m')}\">›</a></h2>"
        . "<table class=\"calendar\"><tr><th>Mo<th>Tu<th>We<th>Th<th>Fr<th>Sa<th>Su</tr>$rows</table>"
        . '<p class="legend quiet"><span class="available">available</span><span class="stale">to be checked</span>'
        . '<span class="sold_out">sold out</span><span class="not_on_sale">not on sale</span><span class="unknown">not known</span></p>';
}

function slots_table(int $id, string $date, array $slots): string
{
    $row = function (array $slot) use ($id, $date): string {
        $fields = ['product' => $id, 'date' => $date, 'time' => $slot['time'], 'variant' => $slot['variant_id'], 'price' => $slot['retail_price']];
        $counts = joined(range(1, $slot['most']), fn (int $count) => "<option>$count</option>");
        return '<tr><td>' . e(spoken($slot['time'])) . '<td>' . e($slot['label'] ?? 'Ticket') . '<td>' . money($slot['retail_price'])
            . '<td>' . form('/checkout', $fields, "<select name=\"count\">$counts</select> <button>Book</button>") . '</tr>';
    };
    $table = '<table><tr><th>Time<th>Ticket<th>Price<th></tr>' . joined($slots, $row) . '</table>';
    return '<h2 id="slots">' . day($date) . '</h2>' . ($slots ? $table : '<p>No tickets are known for this date.</p>');
}

/** Products, dates or times, each as [address, words, price or null]. */
function instead_list(array $others): string
{
    $line = fn (array $other) => '<li><a href="' . e($other[0]) . '">' . e($other[1]) . '</a><b>' . money($other[2]) . '</b></li>';
    return $others ? '<h2>Instead</h2><ul class="hits instead">' . joined($others, $line) . '</ul>' : '';
}

/** Why a product is off sale, until when, and what there is instead. */
function closed(array $product, array $recommended): string
{
    $reason = $product['disabled_reason'] ? ': ' . spoken($product['disabled_reason']) : '';
    $back = $product['expected_reopening'] ? ', expected back ' . spoken($product['expected_reopening']) : '';
    $others = array_map(fn (array $other) => ["/product/{$other['product_id']}", $other['title'], null], $recommended);
    return notice('This is not on sale now' . e("$reason$back.")) . instead_list($others);
}

function product_page(array $product, string $today, string $month, ?string $date): string
{
    $id = $product['product_id'];
    $price = e(from_price($product));
    $must_know = must_know($id);
    $lang = 'lang="' . e($product['language_shown']) . '"';
    return page($product['title'], "<h1 $lang>" . e($product['title']) . '</h1><p class="quiet">' . e($product['city_name']) . '</p>'
        . gallery(images($id)) . "<p $lang>" . e($product['tagline']) . '</p>'
        . ($product['sellable'] ? '' : closed($product, recommended($id)))
        . ($price ? "<p class=\"price\">$price</p>" : '') . ($must_know ? notice(e($must_know)) : '')
        . calendar_table($month, $today, $date, calendar($id, "$month-01", "$month-31"))
        . ($date !== null && $product['sellable'] ? slots_table($id, $date, slots($id, $date)) : ''));
}

/** What is bought, as the shopper knows it. */
function purchase(array $wish, array $names, int $price): string
{
    $tickets = ($names['ticket'] ?? 'Ticket') . " × {$wish['count']}";
    $lines = ['Date' => day($wish['date']), 'Time' => spoken($wish['time']), 'Tickets' => $tickets, 'Price' => money($price)];
    return '<h2>' . e($names['title']) . '</h2><dl>' . joined(array_keys($lines), fn (string $term) => "<dt>$term<dd>" . e($lines[$term])) . '</dl>';
}

/** What the check says, in words and with what can be done: confirm, accept the new price, choose again, ask again. */
function checkout_page(array $wish, string $order, array $names, array $answer, array $instead): string
{
    [$verdict, $shown, $now] = [$answer['verdict'], $wish['count'] * $wish['price'], $answer['now']['price']['amount'] ?? null];
    $again = fn (string $words, array $fields) => form('/checkout', $fields, "<button>$words</button>");
    $body = match (true) {
        $verdict === 'ordered' => notice('Thank you: your order is confirmed.', 'notice good'),
        $verdict === 'holds' => notice('Still available at this price.', 'notice good') . form('/order', $wish + ['order' => $order], '<button>Confirm the order</button>'),
        $verdict === 'changed' && $now !== null => notice('The price has changed: it is ' . money($now) . ' now, not ' . money($shown) . '.')
            . $again('Take it for ' . money($now), array_replace($wish, ['price' => intdiv($now, $wish['count'])])),
        $verdict === 'changed' => notice('This can be had no more as you want it: perhaps there are fewer tickets left.') . instead_list($instead),
        $verdict === 'gone' => notice('This is not to be had any more.') . instead_list($instead),
        default => notice('We cannot tell at the moment whether this is still available. Nothing was ordered.') . $again('Ask again', $wish),
    };
    return page('Checkout', '<h1>Checkout</h1><section class="purchase" data-verdict="' . e($verdict) . '">' . purchase($wish, $names, $now ?? $shown)
        . "</section>$body<p><a href=\"/product/{$wish['product']}?date={$wish['date']}\">Back to the dates</a></p>");
}
