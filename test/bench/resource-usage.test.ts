import { tmpdir } from "node:os"
import { expect, test } from "vitest"

import { accountWhileAlive, findUsageMeter } from "./resource-usage.ts"

// Fills 200 MB and stays for a moment, so that a meter that looks from time to time sees it too.
const FILLS_MEMORY = "globalThis.kept = Buffer.alloc(200 * 1024 * 1024, 1); setTimeout(() => {}, 30)"

test.runIf(process.platform === "linux")("both meters see the memory and the time that a process took", async () => {
  const meter = await findUsageMeter()
  for (const measure of [meter!, accountWhileAlive]) {
    const large = await measure(node(FILLS_MEMORY))
    const small = await measure(node("setTimeout(() => {}, 30)"))
    expect(large.peakMb - small.peakMb).toBeGreaterThan(190)
    expect(large.peakMb - small.peakMb).toBeLessThan(230)
    expect(large.cpuMs).toBeGreaterThan(small.cpuMs)
  }
})

test.runIf(process.platform === "linux")("a command that fails is no measurement", async () => {
  const meter = await findUsageMeter()
  for (const measure of [meter!, accountWhileAlive]) {
    await expect(measure(node("process.exit(3)"))).rejects.toThrow("ended with 3")
  }
})

function node(code: string) {
  return {
    argv: [process.execPath, "-e", code] as [string, ...string[]],
    env: { PATH: process.env["PATH"] ?? "" },
    cwd: tmpdir(),
  }
}
