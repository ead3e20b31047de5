import { probeSandbox } from "../../src/exec/sandbox/probe-sandbox.ts"

/** Returns the path of the bubblewrap program, or the reason why tests cannot use it. */
export async function findBubblewrap(): Promise<{ readonly program: string } | { readonly missing: string }> {
  const found = await probeSandbox({ path: process.env["PATH"] ?? "", signal: new AbortController().signal })
  return found.ok ? { program: found.value } : { missing: found.error }
}
