import { scriptFunction } from "./script-function.ts"
import type { ScriptTool } from "./script-function.ts"

/** The files of a JavaScript or TypeScript script by name, and the arguments that make Node run it. */
export function javascriptFiles(
  code: string,
  options: {
    readonly language: "javascript" | "typescript"
    readonly tools: readonly ScriptTool[]
    /** Where relative and bare imports are looked up; undefined in strict mode. */
    readonly projectDirectory: string | undefined
  },
): Readonly<Record<string, string>> {
  const script = options.language === "typescript" ? "script.mts" : "script.mjs"
  return {
    [script]: code,
    "hermes_rpc.mjs": RPC,
    "hermes_tools.mjs": toolsModule(options.tools),
    "hermes_hooks.mjs": hooksModule(options.projectDirectory),
    "main.mjs": mainModule(script),
  }
}

/** The module as a package, for a Node of another machine that has no hooks for imports. */
export const TOOLS_PACKAGE: Readonly<Record<string, string>> = {
  "node_modules/hermes_tools/package.json": '{"name":"hermes_tools","type":"module","exports":"./index.mjs"}',
  "node_modules/hermes_tools/index.mjs": 'export * from "../../hermes_tools.mjs"\n',
}

export function javascriptArguments(directory: string, { memoryMb }: { readonly memoryMb: number }): readonly string[] {
  return [
    "--no-warnings",
    `--max-old-space-size=${memoryMb}`,
    "--import",
    `${directory}/hermes_hooks.mjs`,
    `${directory}/main.mjs`,
  ]
}

/** Functions are exported by name, so that `import { read_file } from "hermes_tools"` works. */
function toolsModule(tools: readonly ScriptTool[]): string {
  const functions = tools.map(scriptFunction).map(({ name, parameters, aliases }) => {
    const names = JSON.stringify(parameters.map((parameter) => parameter.name))
    const others = aliases.map((alias) => `export const ${alias} = ${name}`)
    return [`export const ${name} = bind(${JSON.stringify(name)}, ${names})`, ...others].join("\n")
  })
  return `${TOOLS}\n${functions.join("\n")}\n`
}

/** The script is imported, so that its end is known: calls that it did not await get a few seconds. */
function mainModule(script: string): string {
  return `import { settlePending } from "./hermes_rpc.mjs"
await import("./${script}")
await settlePending()
`
}

function hooksModule(projectDirectory: string | undefined): string {
  return `import module, { isBuiltin } from "node:module"
import { pathToFileURL } from "node:url"
const TOOLS = new URL("./hermes_tools.mjs", import.meta.url).href
const STAGING = new URL("./", import.meta.url).href
const directory = ${JSON.stringify(projectDirectory ?? null)}
const project = directory === null ? undefined : pathToFileURL(directory + "/script.mjs").href
module.registerHooks?.({
  resolve(specifier, context, next) {
    if (specifier === "hermes_tools") return { url: TOOLS, shortCircuit: true }
    if (isBuiltin(specifier) || !context.parentURL?.startsWith(STAGING)) return next(specifier, context)
    if (/^(?:\\/|file:|data:)/.test(specifier)) return next(specifier, context)
    const isRelative = /^\\.\\.?\\//.test(specifier)
    if (project === undefined) {
      if (isRelative) return next(specifier, context)
      throw new Error("Cannot import '" + specifier + "': in strict mode scripts may import only hermes_tools and the modules of Node")
    }
    if (!isRelative) return next(specifier, { ...context, parentURL: project })
    try {
      return next(specifier, context)
    } catch {
      return next(specifier, { ...context, parentURL: project })
    }
  },
})
globalThis.hermes_tools = await import(TOOLS)
`
}

/** One connection per thread: a call is a line of JSON, and so is its answer. Files replace the socket where the script runs elsewhere. */
const RPC = `import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { Socket } from "node:net"
import { threadId } from "node:worker_threads"

const CALL_TIMEOUT_MS = 300_000
const SETTLE_MS = 5000
const MAX_THREADS = 4
const address = process.env.HERMES_RPC_SOCKET ?? ""
const token = process.env.HERMES_RPC_TOKEN ?? ""
const pending = new Map()
let lastId = 0
let lastAnswer = 0
let connection

export class ToolError extends Error {
  name = "ToolError"
}

export function call(tool, args) {
  connection ??= address.startsWith("spool:") ? openSpool(address.slice(6)) : openSocket(Number(address.slice(3)))
  const id = (lastId += 1)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      finish(id)
      reject(new ToolError(tool + " was not answered within " + CALL_TIMEOUT_MS / 1000 + " s"))
    }, CALL_TIMEOUT_MS)
    pending.set(id, { tool, resolve, reject, timer })
    connection.send({ id, tool, args })
  })
}

/** The script has ended. */
export async function settlePending() {
  lastAnswer = Date.now()
  while (pending.size > 0 && Date.now() - lastAnswer < SETTLE_MS) await new Promise((resolve) => setTimeout(resolve, 10))
  if (pending.size === 0) return
  const names = Array.from(pending.values(), ({ tool }) => tool).join(", ")
  process.stderr.write("Warning: the script ended without awaiting these calls: " + names + "\\n", () => process.exit())
}

function finish(id) {
  const found = pending.get(id)
  clearTimeout(found?.timer)
  pending.delete(id)
  lastAnswer = Date.now()
  connection.idle(pending.size === 0)
  return found
}

function answered(line) {
  const { id, result, error } = JSON.parse(line)
  if (id === undefined) {
    for (const other of [...pending.keys()]) finish(other).reject(new ToolError(error ?? "the answer has no id"))
    return
  }
  finish(id)?.resolve(error === undefined ? result : { error })
}

function openSocket(descriptor) {
  if (threadId >= MAX_THREADS) throw new ToolError("at most " + MAX_THREADS + " threads of a script can call tools")
  const socket = new Socket({ fd: descriptor + threadId, readable: true, writable: true })
  let parts = []
  let closed
  socket.setEncoding("utf8")
  socket.on("data", (chunk) => {
    const lines = chunk.split("\\n")
    parts.push(lines[0])
    if (lines.length === 1) return
    answered(parts.join(""))
    for (const line of lines.slice(1, -1)) answered(line)
    parts = [lines.at(-1)]
  })
  socket.on("error", () => undefined)
  socket.on("close", () => {
    closed = new ToolError("the connection to Hermes is closed")
    for (const id of [...pending.keys()]) finish(id).reject(closed)
    // Hermes has ended, or has closed the connection: the script can do nothing useful any more.
    setTimeout(() => process.exit(1), 1000).unref()
  })
  socket.write(JSON.stringify({ auth: token }) + "\\n")
  return {
    send: (request) => {
      if (closed !== undefined) return finish(request.id).reject(closed)
      socket.ref()
      socket.write(JSON.stringify(request) + "\\n")
    },
    idle: (isIdle) => (isIdle ? socket.unref() : socket.ref()),
  }
}

function openSpool(directory) {
  const file = (kind, id) => directory + "/" + kind + "_" + String(id).padStart(6, "0")
  const watch = async (id) => {
    for (let delay = 50; pending.has(id); delay = Math.min(250, delay * 1.5)) {
      await new Promise((resolve) => setTimeout(resolve, delay))
      const path = file("res", id)
      if (!existsSync(path)) continue
      const line = Buffer.from(readFileSync(path, "utf8"), "base64").toString("utf8")
      rmSync(path, { force: true })
      answered(line)
    }
  }
  return {
    send: (request) => {
      const path = file("req", request.id)
      writeFileSync(path + ".tmp", Buffer.from(JSON.stringify({ auth: token, ...request })).toString("base64"))
      renameSync(path + ".tmp", path)
      watch(request.id)
    },
    idle: () => undefined,
  }
}
`

const TOOLS = `import { call, ToolError } from "./hermes_rpc.mjs"
export { ToolError }

function bind(tool, parameters) {
  return (...given) => {
    const [first] = given
    const isNamed = given.length === 1 && typeof first === "object" && first !== null && !Array.isArray(first)
    const entries = isNamed ? Object.entries(first) : given.map((value, index) => [parameters[index] ?? "argument" + (index + 1), value])
    return call(tool, Object.fromEntries(entries.filter(([, value]) => value !== undefined)))
  }
}

export function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

export async function retry(run, { attempts = 3, delay_ms = 1000, backoff = 2 } = {}) {
  for (let attempt = 1, delay = delay_ms; ; attempt += 1, delay *= backoff) {
    try {
      return await run()
    } catch (error) {
      if (attempt >= attempts) throw error
      await sleep(delay)
    }
  }
}

export function shell_quote(text) {
  return "'" + String(text).replaceAll("'", "'\\\\''") + "'"
}

export function json_parse(text) {
  try {
    return JSON.parse(text)
  } catch (error) {
    const start = text.search(/[[{]/)
    for (let end = start === -1 ? -1 : text.length; end > start; end = Math.max(text.lastIndexOf("}", end - 2), text.lastIndexOf("]", end - 2)) + 1) {
      try {
        return JSON.parse(text.slice(start, end))
      } catch {
        // Too long: try the next closing bracket before it.
      }
    }
    throw error
  }
}
export const jsonParse = json_parse
export const shellQuote = shell_quote
`
