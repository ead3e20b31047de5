// Sets a fresh clone up and runs a task in it. Written for Node 18 with built-ins only, because it must run before anything
// newer is there: it fetches the Node that Hermes needs into .runtime/, installs the libraries, and builds.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { delimiter, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const FLOOR = [24, 15, 0]
const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const runtime = join(root, ".runtime")
const setupLog = join(runtime, "setup.log")

const TASKS = {
  setup: [],
  build: [["scripts/build.mjs"]],
  test: [["scripts/test.mjs"]],
  check: [["scripts/test.mjs", "--quick"]],
  generate: [["scripts/generate-tool-manifest.ts"], ["scripts/generate-reference.ts"]],
  format: [["node_modules/oxfmt/bin/oxfmt", "."]],
  bench: [["test/bench/main.ts"]],
  sizes: [["scripts/sizes.ts"]],
}

const [task = "setup", ...args] = process.argv.slice(2)
const commands = TASKS[task]
if (commands === undefined) stop(`Unknown task "${task}". Known: ${Object.keys(TASKS).join(", ")}.`)
mkdirSync(runtime, { recursive: true })
withLock(() => {
  ensureRuntime()
  ensureLibraries()
  ensureBuild()
})
for (const [script, ...more] of commands) {
  const code = run(nodePath(), [script, ...more, ...args], { stdio: "inherit" }).status ?? 1
  if (code !== 0) process.exit(code)
}

/** The machine's own Node when it is new enough, else the one from the registry. `.runtime/node` is what launchers start. */
function ensureRuntime() {
  const wanted = isNewEnough(process.versions.node) ? process.execPath : fetchedNode()
  const link = join(runtime, "node")
  if (existsSync(link) && realpathSync(link) === realpathSync(wanted)) return
  rmSync(`${link}.new`, { force: true })
  symlinkSync(wanted, `${link}.new`)
  renameSync(`${link}.new`, link)
}

function fetchedNode() {
  const found = findFetchedNode()
  if (found !== undefined && readIfThere(join(runtime, ".stamp")) === lockHash(join(root, "runtime"))) return found
  step(`fetching Node for Hermes (this machine has ${process.versions.node}, it needs ${FLOOR.slice(0, 2).join(".")})`)
  for (const name of ["package.json", "package-lock.json", ".npmrc"])
    copyFileSync(join(root, "runtime", name), join(runtime, name))
  npm(["ci", "--ignore-scripts"], { cwd: runtime, node: process.execPath, what: "the Node runtime" })
  const fetched = findFetchedNode()
  if (fetched === undefined)
    stop(
      `There is no Node package for ${process.platform} ${process.arch}; install Node ${FLOOR.slice(0, 2).join(".")} or newer yourself.`,
    )
  rmSync(join(dirname(dirname(fetched)), "include"), { recursive: true, force: true })
  writeFileSync(join(runtime, ".stamp"), lockHash(join(root, "runtime")))
  return fetched
}

function findFetchedNode() {
  const modules = join(runtime, "node_modules")
  if (!existsSync(modules)) return undefined
  return readdirSync(modules)
    .filter((name) => name.startsWith("node-"))
    .map((name) => join(modules, name, "bin", process.platform === "win32" ? "node.exe" : "node"))
    .find((path) => existsSync(path))
}

function ensureLibraries() {
  const stamp = join(root, "node_modules", ".hermes-stamp")
  const wanted = lockHash(root)
  if (readIfThere(stamp) === wanted) return
  step("installing libraries")
  npm(["ci"], { cwd: root, node: nodePath(), what: "its libraries" })
  writeFileSync(stamp, wanted)
}

/** The stamp's time is what the launcher looks at, its content says whether a build is due. */
function ensureBuild() {
  const stamp = join(root, "dist", ".stamp")
  const wanted = sourceHash()
  if (readIfThere(stamp) !== wanted) {
    step("building")
    const built = run(nodePath(), ["scripts/build.mjs"], { stdio: ["ignore", "inherit", "inherit"] })
    if (built.status !== 0) stop("The build failed; what it said is above.")
  }
  writeFileSync(stamp, wanted)
}

function npm(npmArgs, { cwd, node, what }) {
  const script = npmScript()
  const [command, prefix] = script === undefined ? ["npm", []] : [node, [script]]
  const done = spawnSync(command, [...prefix, ...npmArgs, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}` },
    shell: script === undefined && process.platform === "win32",
  })
  if (done.status === 0) return
  const said = `${done.stdout ?? ""}${done.stderr ?? ""}${done.error?.message ?? ""}`
  writeFileSync(setupLog, said)
  const offline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ENOTCACHED|network/i.test(said)
  stop(
    offline
      ? `Hermes has to fetch ${what} from the npm registry once and could not reach it. Connect to the network and run this again.`
      : `npm could not install ${what}. What it said is in ${setupLog}; mend that and run this again.`,
  )
}

/** npm's JavaScript file, so that it can be run by the Node we choose; undefined leaves it to the npm on PATH. */
function npmScript() {
  const given = process.env.npm_execpath
  if (given !== undefined && /npm-cli\.[cm]?js$/.test(given) && existsSync(given)) return given
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    const candidate = join(directory, "npm")
    if (existsSync(candidate)) {
      const real = realpathSync(candidate)
      if (/npm-cli\.[cm]?js$/.test(real)) return real
    }
  }
  return undefined
}

/** One set-up at a time; a set-up that was killed leaves a lock that the next one takes over. */
function withLock(work) {
  const lock = join(runtime, "setup.lock")
  let said = false
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" })
      break
    } catch (error) {
      if (error.code !== "EEXIST") stop(`Hermes cannot write in ${runtime}: ${error.message}`)
      const owner = Number(readIfThere(lock))
      if (!isAlive(owner)) {
        rmSync(lock, { force: true })
        continue
      }
      if (!said) step(`waiting for another set-up (process ${owner})`)
      said = true
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
    }
  }
  const release = () => rmSync(lock, { force: true })
  process.once("exit", release)
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.once(signal, () => process.exit(130))
  }
  work()
  release()
}

function isAlive(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

function run(command, commandArgs, options) {
  return spawnSync(command, commandArgs, {
    cwd: root,
    env: { ...process.env, PATH: `${dirname(realpathSync(nodePath()))}${delimiter}${process.env.PATH ?? ""}` },
    ...options,
  })
}

function nodePath() {
  return join(runtime, "node")
}

function lockHash(directory) {
  return createHash("sha256")
    .update(readFileSync(join(directory, "package.json")))
    .update(readFileSync(join(directory, "package-lock.json")))
    .digest("hex")
}

/** Changes whenever something that goes into the build does. */
function sourceHash() {
  const hash = createHash("sha256")
  const walk = (path) => {
    if (statSync(path).isDirectory()) {
      for (const name of readdirSync(path).sort()) walk(join(path, name))
    } else if (!path.endsWith(".test.ts")) {
      hash.update(path.slice(root.length)).update("\0").update(readFileSync(path)).update("\0")
    }
  }
  for (const name of ["src", "scripts/build.mjs", "package.json", "package-lock.json"]) walk(join(root, name))
  return hash.digest("hex")
}

function isNewEnough(version) {
  const parts = version.split(".").map(Number)
  for (const [index, least] of FLOOR.entries()) {
    if (parts[index] > least) return true
    if (parts[index] < least) return false
  }
  return true
}

function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined
}

function step(text) {
  process.stderr.write(`hermes: ${text}\n`)
}

function stop(text) {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}
