import type { Result } from "../../base/result.ts"

/** What the memory tool may do with the two files of the home. */
export interface MemoryPort {
  add(
    target: "memory" | "user",
    text: string,
  ): Promise<Result<{ readonly usedChars: number; readonly limitChars: number }>>
  entries(target: "memory" | "user"): Promise<readonly string[]>
}
