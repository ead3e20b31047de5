// Sets up a fresh clone and runs a task in it. It uses only built-in modules of Node 18, because it must run before anything
// newer is installed: it fetches the Node that Hermes needs into .runtime/, installs the libraries, and builds.
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

const MINIMUM_NODE = [24, 15, 0]
const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const runtime = join(root, ".runtime")
const setupLog = join(runtime, "setup.log")

const TASKS = {
  setup: [],
  build: [["scripts/build.mjs"]],
  test: [["scripts/test.mjs"]],
  check: [["scripts/test.mjs", "--quick"]],
  generate: [
    ["scripts/generate-tool-manifest.ts"],
    ["scripts/generate-bundled-skills.ts"],
    ["scripts/generate-reference.ts"],
  ],
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

/** Links `.runtime/node`, which the launchers start, to the machine's Node if it is new enough, or to one from the registry. */
function ensureRuntime() {
  const node = isNewEnough(process.versions.node) ? process.execPath : fetchedNode()
  const link = join(runtime, "node")
  if (existsSync(link) && realpathSync(link) === realpathSync(node)) return
  rmSync(`${link}.new`, { force: true })
  symlinkSync(node, `${link}.new`)
  renameSync(`${link}.new`, link)
}

function fetchedNode() {
  const found = findFetchedNode()
  if (found !== undefined && readIfExists(join(runtime, ".stamp")) === lockHash(join(root, "runtime"))) return found
  step(
    `fetching Node for Hermes (this machine has ${process.versions.node}, it needs ${MINIMUM_NODE.slice(0, 2).join(".")})`,
  )
  for (const name of ["package.json", "package-lock.json", ".npmrc"])
    copyFileSync(join(root, "runtime", name), join(runtime, name))
  npm(["ci", "--ignore-scripts"], { cwd: runtime, node: process.execPath, what: "the Node runtime" })
  const fetched = findFetchedNode()
  if (fetched === undefined)
    stop(
      `There is no Node package for ${process.platform} ${process.arch}; install Node ${MINIMUM_NODE.slice(0, 2).join(".")} or newer yourself.`,
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
  const hash = lockHash(root)
  if (readIfExists(stamp) === hash) return
  step("installing libraries")
  npm(["ci"], { cwd: root, node: nodePath(), what: "its libraries" })
  writeFileSync(stamp, hash)
}

/** The launcher checks the modification time of the stamp. Its content shows whether the build is up to date. */
function ensureBuild() {
  const stamp = join(root, "dist", ".stamp")
  const hash = sourceHash()
  if (readIfExists(stamp) !== hash) {
    step("building")
    const built = run(nodePath(), ["scripts/build.mjs"], { stdio: ["ignore", "inherit", "inherit"] })
    if (built.status !== 0) stop("The build failed. Its output is above.")
  }
  writeFileSync(stamp, hash)
}

function npm(npmArgs, { cwd, node, what }) {
  const script = npmScript()
  const [command, prefix] = script === undefined ? ["npm", []] : [node, [script]]
  const result = spawnSync(command, [...prefix, ...npmArgs, "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}` },
    shell: script === undefined && process.platform === "win32",
  })
  if (result.status === 0) return
  const output = `${result.stdout ?? ""}${result.stderr ?? ""}${result.error?.message ?? ""}`
  writeFileSync(setupLog, output)
  const offline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT|ENOTCACHED|network/i.test(output)
  stop(
    offline
      ? `Hermes has to fetch ${what} from the npm registry once and could not reach it. Connect to the network and run this again.`
      : `npm could not install ${what}. Its output is in ${setupLog}. Fix the problem and run this again.`,
  )
}

/** Finds npm's JavaScript file, so that it can run with the chosen Node. Undefined means to run the npm in PATH. */
function npmScript() {
  const fromEnvironment = process.env.npm_execpath
  if (fromEnvironment !== undefined && /npm-cli\.[cm]?js$/.test(fromEnvironment) && existsSync(fromEnvironment))
    return fromEnvironment
  for (const directory of (process.env.PATH ?? "").split(delimiter)) {
    const candidate = join(directory, "npm")
    if (existsSync(candidate)) {
      const real = realpathSync(candidate)
      if (/npm-cli\.[cm]?js$/.test(real)) return real
    }
  }
  return undefined
}

/** Allows one set-up at a time. The lock of a set-up that was killed is removed. */
function withLock(work) {
  const lock = join(runtime, "setup.lock")
  let reported = false
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" })
      break
    } catch (error) {
      if (error.code !== "EEXIST") stop(`Hermes cannot write in ${runtime}: ${error.message}`)
      const owner = Number(readIfExists(lock))
      if (!isAlive(owner)) {
        rmSync(lock, { force: true })
        continue
      }
      if (!reported) step(`waiting for another set-up (process ${owner})`)
      reported = true
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

/** Hashes all files that the build depends on. */
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
  for (const [index, minimum] of MINIMUM_NODE.entries()) {
    if (parts[index] > minimum) return true
    if (parts[index] < minimum) return false
  }
  return true
}

function readIfExists(path) {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined
}

function step(text) {
  process.stderr.write(`hermes: ${text}\n`)
}

function stop(text) {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}
