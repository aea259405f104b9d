"""What models answer: their texts read leniently, mended where need be, and made into records."""
