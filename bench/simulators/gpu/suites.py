"""The suites' cases under compute-sanitizer's four tools: suites.py PROGRAM PTX OUT.csv [SECONDS [PROCESSES]].

PROGRAM: cargo build --release -p rungs-suites --example run. PTX: cargo xtask build-ptx --manifest-path gallery/suites.
Nothing but Python and compute-sanitizer is needed.

A process launches GROUP cases, each under a kernel's name of its own, by which a finding is told from the others'.
Where a case does not end, or breaks the context, the cases behind it run again without it. All cases of GPUVerify and
Oclgrind come first, then every STRIDEth case of the others, then the cases halfway between, and so on, until SECONDS
are over. A line of OUT.csv is a case: its suite, what each tool says, its name.

    silent    the tool reports nothing
    finding   it reports something that names the case's kernel
    error     it reports nothing of the kind, and the driver says that the kernel failed
    endless   the kernel has not ended after LIMIT seconds
              (nothing) there was no time
"""
import collections, os, re, select, shutil, signal, subprocess, sys, tempfile, threading, time

TOOLS = ['memcheck', 'racecheck', 'initcheck', 'synccheck']
GROUP, STRIDE, LIMIT = 20, 8, 20
# Asked for where this version has them: gaps between allocations, and initcheck's look at shared memory.
WISHES = {'memcheck': ['--padding', '1024'], 'initcheck': ['--initcheck-address-space', 'all']}
# A report's lines, and in them the kernel of case 17, as in `name_c17+0x80`.
REPORT, KERNEL = '=========', re.compile(r'\b[a-z]\w*_c(\d+)\b')


def sanitizer():
    found = shutil.which('compute-sanitizer') or '/usr/local/cuda/bin/compute-sanitizer'
    return found if os.path.exists(found) else sys.exit('there is no compute-sanitizer')


def end(process):
    """Ends a process and all that it started, wherever they have moved."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{entry}/stat') as stat:
                parents[int(entry)] = int(stat.read().rsplit(')', 1)[1].split()[1])
        except OSError:
            pass
    family = [process.pid]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid]
    for pid in family:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    process.wait()


def lines_of(process, until):
    """The lines that a process prints, until it ends; nothing, for good, if LIMIT seconds pass without one."""
    rest = b''
    while True:
        seconds = min(LIMIT, until - time.time())
        if seconds <= 0 or not select.select([process.stdout], [], [], seconds)[0]:
            return end(process)
        data = os.read(process.stdout.fileno(), 1 << 16)
        if not data:
            break
        *lines, rest = (rest + data).split(b'\n')
        yield from (line.decode(errors='replace') for line in lines)
    try:
        process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        end(process)


def launch(tool, options, cases, until):
    """Cases in one process: what became of each that began, whether the last one that began was stopped, and the
    tool's reports."""
    with tempfile.TemporaryDirectory() as folder:
        log, said = folder + '/log', folder + '/said'
        command = [SANITIZER, '--tool', tool, *options, '--print-limit', '3000', '--destroy-on-device-error', 'kernel',
                   '--log-file', log, PROGRAM, PTX, *map(str, cases)]
        with open(said, 'wb') as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        ended, running = {}, None
        for line in lines_of(process, until):
            word, _, rest = line.partition(' ')
            number, _, how = rest.partition(' ')
            if word == 'begin':
                running = int(number)
            elif word == 'end':
                ended[int(number)], running = how, None
        process.stdout.close()
        text = ''.join(open(path, errors='replace').read() for path in [log, said] if os.path.exists(path))
    # The kernels that a report names; its first line says what it is.
    reports, head = collections.defaultdict(list), ''
    for line in text.splitlines():
        if line.startswith(REPORT):
            inside = line[len(REPORT):]
            if inside.startswith(' ') and not inside.startswith('  '):
                head = inside.strip()
            if 'Host Frame' not in inside:
                for case in map(int, KERNEL.findall(inside)):
                    reports[case].append(head)
    return ended, running, process.returncode, reports, text


class Runs:
    """What is left to run, and what has been found."""

    def __init__(self, cases, until):
        self.until, self.lock, self.outcomes, self.notes = until, threading.Lock(), {}, []
        chunks = [cases[at:at + GROUP] for at in range(0, len(cases), GROUP)]
        self.left = collections.deque((tool, chunk, 0) for chunk in chunks for tool in TOOLS)
        self.running = 0

    def work(self):
        while time.time() < self.until:
            with self.lock:
                job = self.left.popleft() if self.left else None
                if not job and not self.running:
                    return
                self.running += bool(job)
            if job:
                try:
                    self.one(*job)
                finally:
                    with self.lock:
                        self.running -= 1
            else:
                time.sleep(0.2)

    def one(self, tool, cases, failures):
        ended, running, code, reports, text = launch(tool, OPTIONS[tool], cases, self.until)
        if time.time() >= self.until:
            running = None  # It was stopped for that.
        done = {case: 'finding' if reports[case] else 'silent' if how == 'ok' else 'error'
                for case, how in ended.items()}
        if running is not None:
            # By its own report, or by the time limit, which kills, or else by an end that nobody explains.
            done[running] = 'finding' if reports[running] else 'endless' if code == -signal.SIGKILL else 'error'
        left = [case for case in cases if case not in done]
        with self.lock:
            for case, outcome in done.items():
                self.outcomes[case, tool] = outcome
                heads = collections.Counter(reports[case]).most_common(3)
                self.notes.append(f'{case}\t{tool}\t{outcome}\t{ended.get(case, "")}\t'
                                  + '; '.join(f'{n}x {head[:100]}' for head, n in heads))
            if left and time.time() < self.until:
                if not done:
                    print(f'{tool}, cases from {cases[0]}: nothing ran (exit {code})\n{text[-600:]}', flush=True)
                if done or failures < 2:
                    self.left.appendleft((tool, left, 0 if done else failures + 1))


def options(tool, until):
    """The options that this version takes, seen by a run of the first case."""
    for wish in [WISHES.get(tool, []), []]:
        ended, _, code, _, text = launch(tool, wish, [0], until)
        if 0 in ended:
            return wish
    sys.exit(f'{tool} does not run (exit {code}):\n{text[-2000:]}')


def in_order(cases):
    """The numbers of the cases in the order in which they run."""
    place, ranks = collections.Counter(), [int(f'{i:03b}'[::-1], 2) for i in range(STRIDE)]
    keys = []
    for number, suite, *_ in cases:
        whole = suite in ('GPUVerify', 'Oclgrind')
        keys.append((-1 if whole else ranks[place[suite] % STRIDE], int(number)))
        place[suite] += 1
    return [number for _, number in sorted(keys)]


PROGRAM, PTX, OUT = os.path.abspath(sys.argv[1]), *sys.argv[2:4]
SECONDS, PROCESSES = (int((sys.argv + ['', ''])[i] or default) for i, default in [(4, 430), (5, 8)])
SANITIZER, UNTIL = sanitizer(), time.time() + SECONDS
os.environ.setdefault('CUDA_CACHE_MAXSIZE', str(1 << 30))
CASES = [line.split('\t') for line in subprocess.check_output([PROGRAM, 'list'], text=True).splitlines()]
OPTIONS = {tool: options(tool, UNTIL) for tool in TOOLS}
print('options:', OPTIONS, flush=True)
RUNS = Runs(in_order(CASES), UNTIL)
threads = [threading.Thread(target=RUNS.work) for _ in range(PROCESSES)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()


def printed(command, pattern):
    try:
        return re.search(pattern, subprocess.run(command, capture_output=True, text=True).stdout).group(1)
    except (OSError, AttributeError):
        return 'unknown'


query = ['nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader']
gpu, version = printed(query, r'(.*)'), printed([SANITIZER, '--version'], r'[Vv]ersion (\S+)')
with open(OUT, 'w') as out:
    out.write(f'# {gpu.replace(", ", ", driver ")}, compute-sanitizer {version}\n')
    out.write(','.join(['suite', *TOOLS, 'case']) + '\n')
    for number, suite, name, _ in CASES:
        out.write(','.join([suite, *(RUNS.outcomes.get((int(number), tool), '') for tool in TOOLS), name]) + '\n')
with open(OUT + '.notes', 'w') as notes:
    notes.write('\n'.join(sorted(RUNS.notes, key=lambda note: int(note.split('\t')[0]))) + '\n')
for tool in TOOLS:
    print(tool, dict(collections.Counter(RUNS.outcomes.get((n, tool), 'not run') for n in range(len(CASES)))))
print(f'{len(RUNS.left)} groups are left after {time.time() - UNTIL + SECONDS:.0f} s')
