<?php
// The same as page.py, in PHP: php-fpm opens a connection for each request unless it is told to keep it.

$task = json_decode($argv[1], true);

function opened(string $path): PDO
{
    return new PDO("sqlite:$path", options: [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
}

function page(PDO $db, array $statements, int $id): void
{
    foreach ($statements as $text) {
        $statement = $db->prepare($text);
        $statement->bindValue(1, $id, PDO::PARAM_INT);
        $statement->execute();
        $statement->fetchAll();
    }
}

function processor_time(): float
{
    $used = getrusage();
    return 1e6 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) + $used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec'];
}

/** Returns an open connection to Redis on this port. */
function redis(int $port)
{
    return stream_socket_client("tcp://127.0.0.1:$port");
}

function from_redis($stream, int $id): array
{
    $key = (string) $id;
    fwrite($stream, "*2\r\n\$3\r\nGET\r\n\$" . strlen($key) . "\r\n$key\r\n");
    $size = (int) substr(fgets($stream), 1);
    return json_decode(substr(stream_get_contents($stream, $size + 2), 0, $size), true);
}

$kept = array_map(opened(...), $task['files']);
$redis = $task['redis'] === null ? null : redis($task['redis']);
$works = [];
foreach ($task['files'] as $name => $path) {
    $works["$name, new"] = fn (int $id) => page(opened($path), $task['statements'], $id);
    $works["$name, open"] = fn (int $id) => page($kept[$name], $task['statements'], $id);
}
if ($redis !== null) {
    $works['redis, new'] = fn (int $id) => from_redis(redis($task['redis']), $id);
    $works['redis, open'] = fn (int $id) => from_redis($redis, $id);
}
$taken = [];
for ($turn = -3; $turn < $task['rounds']; $turn++) {
    foreach ($works as $name => $work) {
        $began = processor_time();
        foreach ($task['ids'] as $id) {
            $work($id);
        }
        if ($turn >= 0) {
            $taken[$name][] = (processor_time() - $began) / count($task['ids']);
        }
    }
}
echo json_encode($taken);
