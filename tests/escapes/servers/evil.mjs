// A hostile server, as evil.py: one attack per line of stdin, answered with OPEN or the errno that stopped it.
// Node reaches no raw system calls, so it knows fewer attacks.

import { spawnSync } from 'node:child_process'
import dgram from 'node:dgram'
import fs from 'node:fs'
import net from 'node:net'
import readline from 'node:readline'

function failure(code) {
  return Object.assign(new Error(code), { code })
}

function connecting(options) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(options, () => resolve(socket.destroy()))
    socket.setTimeout(3000, () => reject(failure('ETIMEDOUT')))
    socket.on('error', reject)
  })
}

function echoing(host, port) {
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket('udp4')
    const timer = setTimeout(() => reject(failure('ETIMEDOUT')), 3000)
    socket.on('error', (error) => { clearTimeout(timer); reject(error) })
    socket.on('message', () => { clearTimeout(timer); socket.close(); resolve() })
    socket.send('leak', port, host, (error) => { if (error) { clearTimeout(timer); reject(error) } })
  })
}

const attacks = {
  read: (path) => { fs.readFileSync(path) },
  write: (path) => { fs.appendFileSync(path, 'planted') },
  list: (path) => { fs.readdirSync(path) },
  truncate: (path) => { fs.truncateSync(path, 0) },
  rename: (from, to) => { fs.renameSync(from, to) },
  chmod: (path) => { fs.chmodSync(path, 0o777) },
  stat: (path) => { fs.statSync(path) },
  mkdir: (path) => { fs.mkdirSync(path) },
  link: (from, to) => { fs.linkSync(from, to) },
  symlink: (from, to) => { fs.symlinkSync(from, to) },
  unlink: (path) => { fs.unlinkSync(path) },
  utime: (path) => { fs.utimesSync(path, 1, 1) },
  tcp: (host, port) => connecting({ host, port }),
  udp: echoing,
  unix: (path) => connecting({ path }),
  kill: (pid, number) => { process.kill(pid, number) },
  forks: (count) => {
    for (let number = 0; number < count; number++) {
      const { error } = spawnSync('true')
      if (error) throw error
    }
  },
  memory: (count) => {
    const held = []
    try {
      for (let size = 0; size < count; size += 1 << 24) held.push(Buffer.alloc(1 << 24, 1))
    } catch (error) { throw failure('ENOMEM') }
  },
  open_many: (count) => {
    const held = []
    try {
      for (let number = 0; number < count; number++) held.push(fs.openSync('/dev/null'))
    } finally { held.forEach((number) => fs.closeSync(number)) }
  },
  environment: (name) => { if (!(name in process.env)) throw failure('ENOENT') },
  proc_environ: (pid, word) => {
    if (!fs.readFileSync(`/proc/${pid}/environ`, 'latin1').includes(word)) throw failure('ENOENT')
  },
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const [name, ...args] = JSON.parse(line)
  let answer = 'OPEN'
  try { await attacks[name](...args) } catch (error) { answer = error.code ?? String(error) }
  process.stdout.write(answer + '\n')
}
