import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { expect, test } from "vitest"

import { startProcess } from "../process-driver.ts"
import { temporaryHome } from "../temporary-home.ts"
import { serveScript } from "./main.ts"

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url))

async function chatReply(url: string): Promise<unknown> {
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: '{"model":"m"}' })
  const completion = (await response.json()) as { choices: { message: { content: string } }[] }
  return completion.choices[0]!.message.content
}

test("the process serves a script file repeatedly and records every request", async () => {
  await using home = await temporaryHome({ files: { "script.json": '[{"text":"one"},{"text":"two"}]' } })
  const record = join(home.path, "requests.jsonl")
  const args = [MAIN, "--script", join(home.path, "script.json"), "--record", record, "--repeat"]
  await using server = startProcess({ command: process.execPath, args, env: home.env })
  await server.waitForOutput("\n")
  const { url } = JSON.parse(server.stdout) as { url: string }
  expect([await chatReply(url), await chatReply(url), await chatReply(url)]).toEqual(["one", "two", "one"])
  const lines = (await readFile(record, "utf8")).trimEnd().split("\n")
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(
    Array.from({ length: 3 }, () => ({
      wire: "chat-completions",
      method: "POST",
      path: "/v1/chat/completions",
      rawBody: '{"model":"m"}',
      body: { model: "m" },
    })),
  )
  server.signal("SIGTERM")
  expect(await server.exit).toMatchObject({ code: 0, signal: null, stderr: "" })
})

test("a script is required", async () => {
  await expect(serveScript([])).rejects.toThrow("--script FILE.json")
})
