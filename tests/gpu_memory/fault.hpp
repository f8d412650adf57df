// SPDX-License-Identifier: MIT
// A kernel of the program that fails.
#pragma once

/// Enqueues a kernel that writes where nothing is, and waits for it: CUDA then works no more in this process.
/// @return whether CUDA said so
bool break_device();
