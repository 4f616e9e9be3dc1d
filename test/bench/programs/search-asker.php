<?php
// Asks statements of a mirror, as a storefront in PHP does: processor milliseconds of each, and the products found. By PDO:
// SQLite3Stmt::execute() runs a statement to its first row, and fetchArray() begins it again.
function processorMs(): float {
    $used = getrusage();
    return 1000 * ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1000;
}
$given = json_decode(stream_get_contents(STDIN), true);
$db = new PDO('sqlite:' . $given['mirror'], options: [PDO::SQLITE_ATTR_OPEN_FLAGS => PDO::SQLITE_OPEN_READONLY]);
$answers = [];
foreach ($given['asks'] as ['sql' => $sql, 'bound' => $bound]) {
    $times = [];
    for ($round = 0; $round < $given['rounds']; $round++) {
        $started = processorMs();
        $found = $db->prepare($sql);
        $found->execute($bound);
        $ids = $found->fetchAll(PDO::FETCH_COLUMN);
        $times[] = processorMs() - $started;
    }
    $answers[] = ['ms' => $times, 'ids' => array_map('intval', array_slice($ids, 0, 3))];
}
echo json_encode($answers);
