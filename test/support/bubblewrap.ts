import { locateBubblewrap, probeSandbox } from "../../src/exec/sandbox/probe-sandbox.ts"

/** Returns the path of the bubblewrap program, or the reason why tests cannot use it. */
export async function findBubblewrap(): Promise<{ readonly program: string } | { readonly missing: string }> {
  const path = process.env["PATH"] ?? ""
  const found = await probeSandbox({ path, signal: new AbortController().signal })
  return found.ok ? { program: locateBubblewrap(path) ?? "" } : { missing: found.error }
}
