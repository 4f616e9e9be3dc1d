import os, pty, sys, json
# Answers each question of a program on a terminal of its own; prints what was seen, and how it ended.
keys = json.loads(sys.argv[1]); args = sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(args[0], args)
seen = ''
while True:
    try: piece = os.read(fd, 4096).decode(errors='replace')
    except OSError: break
    if not piece: break
    seen += piece
    while keys and keys[0][0] in seen:
        prompt, typed = keys.pop(0)
        os.write(fd, typed.encode())
_, status = os.waitpid(pid, 0)
print(json.dumps({'seen': seen, 'code': os.waitstatus_to_exitcode(status)}))
