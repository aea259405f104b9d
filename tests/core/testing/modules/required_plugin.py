"""A plugin that imports a package that its offer requires at its top."""

import wave

USED = wave
