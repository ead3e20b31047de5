/** Throws for a path with a NUL character: the system would cut the name there and use a different file from the one that was checked. */
export function refuseNul(path: string): void {
  if (path.includes("\0")) throw new Error("a path cannot contain a NUL character")
}
