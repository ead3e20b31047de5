import { test, expect } from "vitest"
import { callsTool, says } from "../support/model-server/turn.ts"
import { openFullChat, IDLE } from "./full-chat.ts"
import { NO_SANDBOX } from "./hermes-process.ts"
test("look", async () => {
  await using chat = await openFullChat([
      callsTool("terminal", { command: "head -c 10000000 /dev/zero | tr '\\0' x; exit 3" }),
      says([`${"y".repeat(Number(process.env.BYTES ?? 10_000_000))}\n\nlast words`]),
  ], { settings: NO_SANDBOX, env: { NODE_OPTIONS: "--cpu-prof --cpu-prof-dir=/tmp/h/e2e/prof" } })
  const t = performance.now()
  chat.send("go")
  await chat.waitFor("exit 3")
  console.log("tool", performance.now() - t)
  await expect.poll(() => chat.output.length > 9_000_000, { timeout: 25_000 , interval: 20}).toBe(true)
  console.log("9MB", performance.now() - t)
  await expect.poll(() => chat.output.slice(-5000).includes("last words"), { timeout: 25_000 , interval: 100}).toBe(true)
  console.log("bytes", performance.now() - t, chat.output.length)
  await chat.waitForScreen(IDLE)
  console.log("screen", performance.now() - t)
  chat.press("ctrl+d")
  await chat.exit
}, 60000)
