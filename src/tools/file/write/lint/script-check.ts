import { extname } from "node:path"
import { Worker } from "node:worker_threads"

import { isRecord } from "../../../../base/json.ts"
import type { CheckResult, SyntaxCheck } from "./syntax-check.ts"
import { problems } from "./syntax-check.ts"

const CHECK_TIMEOUT_MS = 5000

/**
 * Checks JavaScript and TypeScript with Node's type stripper, and plain scripts also with Node's compiler. Runs in a worker thread,
 * because a parser that hangs or overflows the stack must not affect the program, and because Node prints a warning that the
 * stripper is experimental.
 */
export const checkScript: SyntaxCheck = async (text, { path, context }) => {
  const extension = extname(path).toLowerCase()
  const isPlain = extension === ".js" || extension === ".cjs"
  const problem = await parseInThread(
    text,
    isPlain,
    AbortSignal.any([context.signal, AbortSignal.timeout(CHECK_TIMEOUT_MS)]),
  )
  if (problem === undefined) return { kind: "skipped", why: "the syntax check did not finish" }
  if (problem !== "" && extension === ".js" && LOOKS_LIKE_JSX.test(text)) {
    return { kind: "skipped", why: "this file seems to contain JSX" } satisfies CheckResult
  }
  return problems(problem === "" ? [] : [problem])
}

const LOOKS_LIKE_JSX = /<\/[A-Za-z][\w.]*>|<[A-Za-z][^<>\n]{0,200}\/>|<>|@flow/

/** The first syntax error, "" when there is none, undefined when the worker did not respond. */
async function parseInThread(text: string, isPlain: boolean, signal: AbortSignal): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const thread = new Worker(THREAD, { eval: true, execArgv: ["--no-warnings"], workerData: { text, isPlain }, env: {} })
  const stop = (): void => {
    resolve(undefined)
  }
  thread.once("message", (answer: unknown) => {
    resolve(isRecord(answer) && typeof answer["problem"] === "string" ? answer["problem"] : undefined)
  })
  thread.once("error", stop)
  thread.once("exit", stop)
  signal.addEventListener("abort", stop, { once: true })
  try {
    return await promise
  } finally {
    signal.removeEventListener("abort", stop)
    await thread.terminate()
  }
}

/**
 * The code of the worker. Syntax that the stripper parses but cannot strip, such as an enum, is valid. Any other error, such as a
 * stack overflow of the parser, ends the worker without a response.
 */
const THREAD = `
const { parentPort, workerData } = require("node:worker_threads")
const { stripTypeScriptTypes } = require("node:module")
const { Script } = require("node:vm")
const problemOf = (work) => {
  try {
    work()
    return ""
  } catch (error) {
    if (error.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") return ""
    if (error.code !== "ERR_INVALID_TYPESCRIPT_SYNTAX" && !(error instanceof SyntaxError)) throw error
    const position = /(?:^|\\n)[^\\n]*?:(\\d+)\\n/.exec(String(error.stack))
    return (position ? "line " + position[1] + ": " : "") + String(error.message).split("\\n")[0]
  }
}
const { text, isPlain } = workerData
let problem = problemOf(() => stripTypeScriptTypes(text, { mode: "strip" }))
if (problem !== "" && isPlain) {
  const script = problemOf(() => new Script("(function (exports, require, module, __filename, __dirname) { " + text.replace(/^#!/, "//") + "\\n})"))
  if (script === "") problem = ""
}
parentPort.postMessage({ problem })
`
