import { expect, test } from "vitest"

import { classifyAddress, isMetadataHost } from "./network-address.ts"

test.each([
  ["127.0.0.1", "private"],
  ["10.0.0.5", "private"],
  ["192.168.1.1", "private"],
  ["172.16.0.1", "private"],
  ["100.64.1.1", "private"],
  ["::1", "private"],
  ["::ffff:10.0.0.1", "private"],
  ["64:ff9b::10.0.0.1", "private"],
  ["0.0.0.0", "private"],
  ["224.0.0.1", "private"],
  ["198.18.0.1", "private"],
  ["fd12::1", "private"],
  ["::127.0.0.1", "private"],
  ["2002:7f00:1::", "private"],
  ["2001:0:7f00:1::", "private"],
  ["64:ff9b::a9fe:a9fe", "metadata"],
  ["not an address", "private"],
  ["169.254.169.254", "metadata"],
  ["::ffff:169.254.169.254", "metadata"],
  ["100.100.100.200", "metadata"],
  ["fd00:ec2::254", "metadata"],
  ["8.8.8.8", "public"],
  ["1.1.1.1", "public"],
  ["2606:4700::1111", "public"],
])("%s is %s", (address, expected) => {
  expect(classifyAddress(address)).toBe(expected)
})

test("metadata hosts are recognised with and without a final dot", () => {
  expect(["metadata.google.internal", "metadata.goog.", "metadata.example"].map(isMetadataHost)).toEqual([
    true,
    true,
    false,
  ])
})
