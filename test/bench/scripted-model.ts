import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import { installedCommand, startProcess } from "../support/process-driver.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { Command } from "./rounds.ts"

export type ReceivedRequest = Pick<RecordedRequest, "rawBody" | "body" | "at">

/** A home with a scripted model server in a separate process, so that the server does not slow down the measured process. */
export interface ScriptedModel extends AsyncDisposable {
  /** Ends in `/v1`. */
  readonly url: string
  readonly home: TemporaryHome
  /** The requests since the last call, in order of arrival. */
  takeRequests(): Promise<readonly ReceivedRequest[]>
  /** The command to run Hermes in this home. */
  hermes(...args: readonly string[]): Command
  /** The command to run a program of `floor/` in this home, with the URL of the server as its first argument. */
  floor(program: "one-shot" | "tool-turns", ...args: readonly string[]): Command
}

/** The script is a list of turns in the format of `model-server/script-file.ts`. It repeats when it ends. */
export async function startScriptedModel(script: readonly object[]): Promise<ScriptedModel> {
  await using cleanUp = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), "hermes-bench-"))
  cleanUp.defer(() => rm(directory, { recursive: true, force: true }))
  const record = join(directory, "requests.jsonl")
  await writeFile(join(directory, "script.json"), JSON.stringify(script))
  const server = cleanUp.use(
    startProcess({
      command: [process.execPath, fileURLToPath(new URL("../support/model-server/main.ts", import.meta.url))],
      args: ["--script", join(directory, "script.json"), "--record", record, "--repeat"],
      env: { PATH: process.env["PATH"] ?? "" },
    }),
  )
  await server.waitForOutput("\n")
  const url = `${(JSON.parse(server.stdout) as { url: string }).url}/v1`
  const home = cleanUp.use(await temporaryHome({ config: configFor(url) }))
  const context = { env: home.env, cwd: home.workdir }
  let taken = 0
  const owned = cleanUp.move()
  return {
    url,
    home,
    takeRequests: async () => {
      const lines = (await readFile(record, "utf8")).split("\n").slice(0, -1)
      const fresh = lines.slice(taken).map((line) => JSON.parse(line) as ReceivedRequest)
      taken = lines.length
      return fresh
    },
    hermes: (...args) => ({ argv: [...installedCommand(), ...args], ...context }),
    floor: (program, ...args) => ({ argv: [process.execPath, floorProgram(program), url, ...args], ...context }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function configFor(url: string): string {
  return `model:\n  provider: custom\n  default: scripted\n  base_url: ${url}\n`
}

function floorProgram(name: string): string {
  return fileURLToPath(new URL(`./floor/${name}.mjs`, import.meta.url))
}
