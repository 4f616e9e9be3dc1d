<?php
// Asking the daemon: the check before an order, and the report after one. ADMIN is unix:///path or tcp://127.0.0.1:port.

/** The answer to a POST; null where there is none in time: nobody knows then, and nothing is guessed. */
function daemon(string $path, array $body): ?array
{
    $socket = @stream_socket_client(getenv('ADMIN'), $code, $message, 1);
    if ($socket === false) {
        return null;
    }
    stream_set_timeout($socket, 7);
    $json = json_encode($body);
    $token = getenv('ADMIN_TOKEN') ? 'Authorization: Bearer ' . getenv('ADMIN_TOKEN') . "\r\n" : '';
    fwrite($socket, "POST $path HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n{$token}Content-Length: "
        . strlen($json) . "\r\n\r\n$json");
    $answer = stream_get_contents($socket);
    fclose($socket);
    [$head, $text] = explode("\r\n\r\n", $answer, 2) + [1 => ''];
    return preg_match('~^HTTP/1.\d 200 ~', $head) ? json_decode($text, true) : null;
}

/** Whether what the shopper was shown still holds: holds, changed, gone or unknown. */
function check(array $wish): array
{
    $answer = daemon('/v1/check', [
        'product_id' => $wish['product'], 'date' => $wish['date'], 'time' => $wish['time'],
        'variants' => [['variant_id' => $wish['variant'], 'count' => $wish['count']]],
        'expect_price' => ['amount' => $wish['count'] * $wish['price'], 'currency' => CURRENCY], 'deadline_ms' => 5000,
    ]);
    return $answer ?? ['verdict' => 'unknown', 'now' => null, 'alternatives' => []];
}

/** The daemon reads the dates of an order again, and counts the sale. It is no part of the order: it may fail. */
function report(array $wish): void
{
    daemon('/v1/orders', ['product_id' => $wish['product'], 'date' => $wish['date'], 'time' => $wish['time'],
        'quantity' => $wish['count'], 'outcome' => 'confirmed']);
}
