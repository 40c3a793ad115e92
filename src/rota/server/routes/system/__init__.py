"""Operations on the installation itself: what it is, how it is, who may use it and who did."""
