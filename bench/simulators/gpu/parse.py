import os, re, collections
NAME = re.compile(r'\b([a-z][a-z0-9_]+)\+0x')
def kernels(path):
    found = collections.OrderedDict()
    head = ''
    for line in open(path, errors='replace'):
        if not line.startswith('========='): continue
        text = line[9:].strip()
        if re.match(r'(Invalid|Uninitialized|Error: |Warning: |Barrier error|Program hit|Race reported|Error:|Misaligned)', text) or 'Race reported' in text or 'hazard' in text.lower():
            head = re.sub(r'0x[0-9a-f]+', 'X', text)[:110]
        m = NAME.search(text)
        if m: found.setdefault(m.group(1), collections.Counter())[re.sub(r' at [a-z0-9_]+\+X.*', '', head)[:90]] += 1
    return found
for path in sorted(os.listdir('logs')):
    full = 'logs/' + path
    lines = open(full, errors='replace').read().splitlines()
    if path.startswith('one.plain') or path.endswith('.plain') or path == 'plain.planted':
        for l in lines:
            if path == 'fixed.plain': continue
            if ' planted: ' in l or l.startswith('exit') or 'rungs:' in l: print('@', path, '|', l[:170])
        continue
    summary = [l for l in lines if 'SUMMARY' in l or l.startswith('exit')]
    print('#', path, '|', ' | '.join(s.replace('=========','').strip() for s in summary)[:160])
    for k, c in kernels(full).items():
        print('%', path, '|', k, '|', '; '.join('%dx %s' % (n, h) for h, n in c.most_common(3)))
    if path.startswith('one.'):
        for l in lines:
            if ' planted: ' in l: print('@', path, '|', l[:150])
