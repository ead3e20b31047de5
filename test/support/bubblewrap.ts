import { probeSandbox } from "../../src/exec/sandbox/probe-sandbox.ts"

/** The bubblewrap program, or why there is no sandbox to test with. */
export async function findBubblewrap(): Promise<{ readonly program: string } | { readonly missing: string }> {
  const found = await probeSandbox({ path: process.env["PATH"] ?? "", signal: new AbortController().signal })
  return found.ok ? { program: found.value } : { missing: found.error }
}
